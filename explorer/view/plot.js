// Draws charts as SVG. Colours are written into the drawing, so the downloaded file needs no styles.
// Uses shared.js.

const RIGHT = 10, TOP = 20
const LETTER = 6.4 // the width of one
const NAME = 22 // letters of a name that are shown
const LINE = 13 // between names that stand upright
const LOST = 2000 // ms after which a picture is asked for again
const states = new WeakMap()

function draw(svg, data, width, paint) {
  const height = data.caption || data.place ? data.height - 22 : data.height
  const names = data.x.named ? data.x.names.map((name) => middle(name, NAME)) : []
  const longest = Math.max(0, ...names.map((name) => name.length))
  const isFlat = names.length * (longest + 2) * LETTER < width // all fit beside each other
  const BOTTOM = 32 + (isFlat ? 0 : LETTER * longest)
  const y = scale(data.y, height - BOTTOM, TOP)
  const labels = y.ticks.map((tick) => format(tick, y.step))
  const LEFT = Math.max(34, 12 + LETTER * Math.max(...labels.map((label) => label.length)))
  const x = scale(data.x, LEFT, width - RIGHT)
  const parts = []
  const box = { x: LEFT, y: TOP, width: width - RIGHT - LEFT, height: height - BOTTOM - TOP }
  if (data.image) parts.push(picture(svg, data.image, box))
  parts.push(node("rect", { ...box, fill: "none", stroke: paint.border }))
  const faint = { fill: paint.text, "fill-opacity": 0.7 }
  // Of positions with names as many are named as fit, and all are told under the pointer.
  const every = isFlat ? 1 : Math.ceil((names.length * LINE) / box.width)
  names.forEach((name, i) => {
    if (i % every) return
    const [at, below] = [x.place(i), height - BOTTOM + (isFlat ? 13 : 6)]
    const turned = isFlat ? { "text-anchor": "middle" } : { "text-anchor": "end", transform: `rotate(-90 ${at} ${below})`, dy: 4 }
    const text = node("text", { ...faint, x: at, y: below, ...turned }, name)
    text.append(node("title", {}, data.x.names[i]))
    parts.push(text)
  })
  for (const tick of data.x.names?.length ? [] : x.ticks) {
    const at = x.place(tick)
    if (!data.image)
      parts.push(node("path", { d: `M${at} ${TOP}V${height - BOTTOM}`, stroke: paint.border, "stroke-opacity": 0.6 }))
    parts.push(node("text", { ...faint, x: at, y: height - BOTTOM + 13, "text-anchor": "middle" }, format(tick, x.step)))
  }
  y.ticks.forEach((tick, i) => {
    const at = y.place(tick)
    if (!data.image)
      parts.push(node("path", { d: `M${LEFT} ${at}H${width - RIGHT}`, stroke: paint.border, "stroke-opacity": 0.6 }))
    parts.push(node("text", { ...faint, x: LEFT - 5, y: at + 4, "text-anchor": "end" }, labels[i]))
  })
  // The name of a leaf on an axis, with its colour: a line below takes that of what it stands in.
  const [colourX, colourY] = data.place?.colours ?? []
  const named = (words, index) => {
    const colour = paint.leaves[index]
    const outer = node("tspan", colour ? { "text-decoration": "underline", fill: colour, stroke: colour } : {})
    outer.append(node("tspan", { fill: paint.text, stroke: "none" }, words))
    return outer
  }
  const below = node("text", { x: (LEFT + width - RIGHT) / 2, y: height - 4, "text-anchor": "middle" })
  below.append(named(data.x.label, colourX))
  parts.push(below)
  const title = node("text", { fill: paint.text, x: 2, y: 12 })
  const reading = node("tspan", { dx: 8, class: "reading" })
  const beside = named(data.y.label, colourY)
  beside.setAttribute("font-weight", 600)
  title.append(beside, reading)
  parts.push(title)
  const clip = `clip-${data.name}`
  const frame = node("clipPath", { id: clip })
  frame.append(node("rect", box))
  const inside = node("g", { "clip-path": `url(#${clip})` })
  for (const line of data.lines) inside.append(...stroke(line, x, y, paint, Boolean(data.image)))
  const upright = (at, colour) => node("path", { d: `M${at} ${TOP}V${height - BOTTOM}`, stroke: colour, "stroke-dasharray": "3 3" })
  if (data.mark !== null) inside.append(upright(x.place(data.mark), paint.mark))
  if (data.now) {
    const [cx, cy] = [x.place(data.now[0]), y.place(data.now[1])]
    if (cx !== null && cy !== null)
      inside.append(node("circle", { cx, cy, r: 4.5, fill: paint.mark, stroke: "white", "stroke-width": 2 }))
  }
  if (data.place) inside.append(...drawPlace(data.place, x, y, paint, box))
  parts.push(frame, inside, ...legend(data, paint, width))
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`)
  svg.setAttribute("height", height)
  svg.setAttribute("role", "img")
  svg.setAttribute("aria-label", data.alt)
  svg.replaceChildren(...(data.pointer || data.place ? [] : [node("title", {}, data.alt)]), ...parts)
  if (data.place) dragPlace(svg, { x, y }, data.place)
  if (!data.pointer) return () => null
  const pointed = inside.appendChild(node("g", {}))
  // Shows the values nearest to this place, and returns their position on the axis of x.
  return (place) => {
    const known = place === null ? [] : data.lines.filter((line) => line.x.length)
    const near = known.map((line) => line.x.reduce((best, value, i) =>
      Math.abs(x.place(value) - place) < Math.abs(x.place(line.x[best]) - place) ? i : best, 0))
    const at = known.length ? known.at(-1).x[near.at(-1)] : null
    const values = known.map((line, i) => [line.name, read(line.y[near[i]])].filter(Boolean).join(" "))
    reading.textContent = at === null ? "" : `${values.join(" · ")} at ${data.x.names?.[at] ?? at}`
    pointed.replaceChildren(...(at === null ? [] : [upright(x.place(at), paint.faint)]))
    return at
  }
}

// A name without its middle: its ends tell more.
const middle = (name, most) => (name.length <= most ? name : `${name.slice(0, most / 2 - 1)}…${name.slice(-most / 2)}`)

const read = (value) => (value === null ? "not finite" : format(value, Math.abs(value) / 1e4))

// The same element as before for the same picture, which then need not be decoded again.
function picture(svg, href, box) {
  const before = svg.querySelector("image")
  const image = before?.getAttribute("href") === href ? before : node("image", { href, preserveAspectRatio: "none" })
  for (const [key, value] of Object.entries(box)) image.setAttribute(key, value)
  return image
}

function stroke(line, x, y, paint, onPicture) {
  const drawn = []
  const points = line.x.map((value, i) => {
    const [a, b] = [value, line.y[i]]
    const place = a === null || b === null ? null : [x.place(a), y.place(b)]
    return place === null || place.includes(null) ? null : place.map((v) => Math.max(-1e4, Math.min(1e4, v)))
  })
  const colour = paint[line.kind]
  if (line.line) {
    let d = ""
    let broken = true
    for (const point of points) {
      if (point) d += `${broken ? "M" : "L"}${point[0].toFixed(1)} ${point[1].toFixed(1)}`
      broken = !point
    }
    if (onPicture) drawn.push(node("path", { d, fill: "none", stroke: "white", "stroke-width": 3.5, "stroke-opacity": 0.75 }))
    drawn.push(node("path", { d, fill: "none", stroke: colour, "stroke-width": 1.7, "stroke-linejoin": "round" }))
  }
  if (line.dots)
    for (const point of points)
      if (point)
        drawn.push(
          node("circle", { cx: point[0].toFixed(1), cy: point[1].toFixed(1), r: line.line ? 2.3 : 2.8, fill: colour, stroke: "white", "stroke-width": 0.7 }),
        )
  if (line.rings)
    for (const point of points)
      if (point) drawn.push(node("circle", { cx: point[0].toFixed(1), cy: point[1].toFixed(1), r: 5, fill: "none", stroke: colour, "stroke-width": 1.5 }))
  return drawn
}

function legend(data, paint, width) {
  const named = data.lines.filter((line) => line.name)
  let at = width - RIGHT - 20
  const drawn = []
  for (const line of [...named].reverse()) {
    at -= 6.2 * line.name.length + 6
    drawn.push(node("text", { x: at + 6, y: 12, fill: paint.text }, line.name))
    drawn.push(node("circle", { cx: at, cy: 8, r: 3.5, fill: paint[line.kind] }))
    at -= 10
  }
  return drawn
}

// A chart, with its caption and the button that saves it. `update` draws it again; `choose` is
// called with the position of a point that is clicked.
function makeChart(choose) {
  const root = element("figure", "cell")
  const svg = node("svg", { xmlns: SPACE })
  const button = element("button", "save", "↓")
  button.title = "Download as SVG"
  button.setAttribute("aria-label", button.title)
  const caption = element("div", "ax-note")
  root.append(svg, button, caption)
  let point = () => null
  const place = (event) => event.clientX - svg.getBoundingClientRect().left
  svg.onpointermove = svg.onpointerdown = (event) => point(place(event))
  svg.onpointerleave = () => point(null)
  svg.onclick = (event) => {
    const at = point(place(event))
    if (at !== null) choose(at)
  }
  const update = (data, paint, width) => {
    point = draw(svg, data, width, paint)
    svg.classList.toggle("chooses", data.chooses)
    svg.classList.toggle("pulls", Boolean(data.place))
    svg.style.touchAction = data.place?.names.length === 1 ? "pan-y" : ""
    caption.textContent = data.place ? placeCaption(data.place) : data.caption
    button.onclick = () => save(svg, paint, `${data.name}.svg`)
  }
  return { root, update }
}

// A sentence in the place of a chart, or room for another element of the page and its legend.
function makeBlank() {
  const root = element("div", "cell")
  const update = (data) => {
    const body = element("div", data.sentence ? "sentence" : "", data.sentence)
    body.style.height = `${data.height - (data.legend ? 48 : 26)}px`
    const legend = element("div", "")
    legend.innerHTML = data.legend // ours: graph.legend_html
    for (const word of legend.querySelectorAll("button")) word.title = "Opens the glossary"
    root.replaceChildren(element("div", "title", data.title), body, legend)
  }
  return { root, update }
}

// The curve with its marker at the last point until a step.
function atStep(cell, step) {
  if (!cell.pointer || step === null || !cell.lines.length) return cell
  const { x, y } = cell.lines.at(-1)
  const i = x.findLastIndex((value) => value !== null && value <= step)
  return { ...cell, now: i < 0 || y[i] === null ? null : [x[i], y[i]] }
}

// -- a place on a plot whose axes are inputs of a program: the tangent of a curve or the gradient's
// arrow on contours, and dragging ------------------------------------------------------------------

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
  const tell = (event, phase) => announce("ax-drag", { target, value: at(event), phase })
  svg.onpointerdown = (event) => {
    event.preventDefault()
    svg.setPointerCapture(event.pointerId)
    tell(event, "move")
  }
  svg.onpointermove = (event) => svg.hasPointerCapture(event.pointerId) && tell(event, "move")
  svg.onpointerup = svg.onpointercancel = (event) => svg.hasPointerCapture(event.pointerId) && (svg.releasePointerCapture(event.pointerId), tell(event, "end"))
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".cells")
  let state = states.get(root)
  if (!state) {
    state = { cells: [], asked: 0 }
    state.observer = new ResizeObserver(() => root.clientWidth !== state.width && state.draw())
    states.set(root, state)
    state.observer.observe(root)
    const follow = (detail) => {
      const cells = state.shown.map((cell) => (cell.place ? { ...cell, place: movedPlace(cell.place, detail) } : cell))
      const moved = cells.some((cell, i) => cell.place !== state.shown[i].place)
      state.shown = cells
      if (moved) state.draw()
    }
    // A replay moves the marker of a curve to another step; without one it is at the present.
    const replay = ({ step }) => {
      state.step = step
      state.draw()
    }
    state.silence = hear({ "ax-numbers": follow, "ax-moment": replay })
  }
  const received = JSON.stringify(data.cells)
  if (received !== state.received) state.shown = data.cells
  state.received = received
  state.choose = (at) => data.chooses && setTriggerValue("chosen", at)
  state.draw = () => {
    state.cells = state.shown.map((cell, i) => {
      const [before, make] = [state.cells[i], cell.lines ? makeChart : makeBlank]
      return before?.make === make ? before : { make, ...make((at) => state.choose(at)) }
    })
    const roots = state.cells.map((cell) => cell.root)
    if (roots.some((cell, i) => cell !== root.children[i])) root.replaceChildren(...roots)
    roots.forEach((cell, i) => cell.classList.toggle("wide", Boolean(state.shown[i].wide)))
    // All is measured before anything is drawn, and drawn only where it is different.
    state.width = root.clientWidth
    const paint = colours(root)
    const widths = roots.map((cell) => Math.max(160, cell.clientWidth))
    state.cells.forEach((cell, i) => {
      const now = atStep(state.shown[i], state.step ?? null)
      const shown = JSON.stringify([now, paint, widths[i]])
      if (shown !== cell.shown) cell.update({ ...now, chooses: data.chooses }, paint, widths[i])
      cell.shown = shown
    })
  }
  state.draw()
  parentElement.querySelector(".moment").textContent = data.caption
  // The next picture of a run or a playback: asked for when this one is drawn, so that requests
  // never queue and a press is answered at once.
  clearTimeout(state.timer)
  if (data.again) {
    const wait = Math.max(0, state.asked + 1000 * data.again - performance.now())
    const ask = () => {
      state.asked = performance.now()
      if (!window.axIsLeaving?.()) setTriggerValue("due", data.frame)
      // Of two fragments that are asked at once, Streamlit runs one: it may not be this.
      state.timer = setTimeout(ask, LOST)
    }
    state.timer = setTimeout(ask, wait)
  }
  return () => {
    clearTimeout(state.timer)
    state.silence()
    state.observer.disconnect()
    states.delete(root)
  }
}
