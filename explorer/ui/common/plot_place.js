// A place on a plot whose axes are inputs of a program: the tangent of a curve or the gradient's arrow
// on contours, and dragging. It comes before plot.js.

const ARROW = 46 // pixels

// As the numbers of the page are written.
const brief = (value) => (value === null || !Number.isFinite(value) ? "not finite" : String(+value.toPrecision(5)).replaceAll("-", "−"))

function drawPlace({ names, values, grad, result }, x, y, paint, box) {
  const ring = { fill: paint.mark, stroke: "white", "stroke-width": 2, class: "place" }
  if (names.length === 1) {
    const [cx, cy] = [x.place(values[0]), result === null ? null : y.place(result)]
    if (cy === null) return []
    const parts = [node("circle", { cx, cy, r: 6, ...ring })]
    if (grad[0] !== null) {
      const rise = (at) => Math.max(-1e4, Math.min(1e4, y.place(result + grad[0] * (at - values[0]))))
      const d = `M${x.place(x.low)} ${rise(x.low)}L${x.place(x.high)} ${rise(x.high)}`
      parts.unshift(node("path", { d, stroke: paint.second, "stroke-width": 1.7, "stroke-dasharray": "6 3", class: "tangent" }))
    }
    return parts
  }
  const [cx, cy] = [x.place(values[0]), y.place(values[1])]
  const parts = [node("circle", { cx, cy, r: 6, ...ring })]
  // The direction in which the result grows fastest, where both axes had the same scale.
  const [dx, dy] = grad
  const length = Math.hypot(dx ?? 0, dy ?? 0)
  if (length > 0) {
    const [ux, uy] = [dx / length, -dy / length]
    const [ex, ey] = [cx + ARROW * ux, cy + ARROW * uy]
    const head = [[ex, ey], [ex - 11 * ux - 5 * uy, ey - 11 * uy + 5 * ux], [ex - 11 * ux + 5 * uy, ey - 11 * uy - 5 * ux]]
    parts.unshift(
      node("path", { d: `M${cx} ${cy}L${ex - 6 * ux} ${ey - 6 * uy}`, stroke: paint.second, "stroke-width": 3, class: "arrow" }),
      node("polygon", { points: head.map((p) => p.join(",")).join(" "), fill: paint.second }),
    )
  }
  return parts
}

function placeCaption({ names, values, grad, result }) {
  const at = names.map((name, i) => `${name} = ${brief(values[i])}`).join(", ")
  const slopes = names.map((name, i) => `${name}.grad = ${brief(grad[i])}`).join(", ")
  return names.length === 1 ? `At ${at} the result is ${brief(result)}. Dashed line: slope ${slopes}` : `At ${at} the result is ${brief(result)}. Arrow: ${slopes}. Darker = lower.`
}

// The place with the numbers of a frame; the same one where none of them has changed.
function movedPlace(place, detail) {
  const number = (value, otherwise) => (value === undefined ? otherwise : Number.isFinite(parseFloat(value)) ? parseFloat(value) : null)
  const of = (name) => detail.inputs?.[name] ?? {}
  if (!place.names.some((name) => detail.inputs?.[name]) && detail.result === undefined) return place
  return {
    ...place,
    values: place.names.map((name, i) => number(of(name).value, place.values[i])),
    grad: place.names.map((name, i) => number(of(name).grad, place.grad[i])),
    result: number(detail.result?.value, place.result),
  }
}

// Dragging anywhere on the plot moves the inputs of its axes.
function dragPlace(svg, scales, place) {
  const target = place.names.length === 1 ? { input: place.names[0] } : { inputs: place.names }
  const at = (event) => {
    const r = svg.getBoundingClientRect()
    const values = [scales.x.value(event.clientX - r.left), scales.y.value(event.clientY - r.top)]
    return place.names.length === 1 ? values[0] : values
  }
  const tell = (event, phase) => window.dispatchEvent(new CustomEvent("ax-drag", { detail: { target, value: at(event), phase } }))
  svg.onpointerdown = (event) => {
    event.preventDefault()
    svg.setPointerCapture(event.pointerId)
    tell(event, "move")
  }
  svg.onpointermove = (event) => svg.hasPointerCapture(event.pointerId) && tell(event, "move")
  svg.onpointerup = svg.onpointercancel = (event) => svg.hasPointerCapture(event.pointerId) && (svg.releasePointerCapture(event.pointerId), tell(event, "end"))
}
