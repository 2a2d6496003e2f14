// Norms of gradients along time, for the recurrent weights that the slider chooses. All runs are
// here already, so the curves follow the hand.

const HEIGHT = 330, LEFT = 52, RIGHT = 12, TOP = 26, BOTTOM = 34
const FLOOR = 1e-12, CEILING = 1e8 // what lies beyond is not drawn
let position = null // the gain, which outlives a rerun
const states = new WeakMap()

const read = (value) => (value === null ? "not finite" : format(value, Math.abs(value) / 1e3))

function range(lines) {
  const known = lines.flatMap((line) => line.y.flat()).filter((v) => v !== null && v > 0)
  const low = Math.max(FLOOR, known.reduce((a, b) => Math.min(a, b), Infinity))
  const high = Math.min(CEILING, known.reduce((a, b) => Math.max(a, b), 0))
  return low < high ? { low, high, log: true } : { low: FLOOR, high: 1, log: true }
}

function draw(svg, data, gain, paint, width) {
  const steps = Math.max(...data.lines.map((line) => line.y[gain].length))
  const x = scale({ low: 1, high: Math.max(2, steps) }, LEFT, width - RIGHT)
  const y = scale(data.range, HEIGHT - BOTTOM, TOP)
  const faint = { fill: paint.text, "fill-opacity": 0.75 }
  const parts = [node("rect", { x: LEFT, y: TOP, width: width - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM, fill: "none", stroke: paint.border })]
  for (const tick of x.ticks.filter(Number.isInteger)) {
    parts.push(node("path", { d: `M${x.place(tick)} ${TOP}V${HEIGHT - BOTTOM}`, stroke: paint.border, "stroke-opacity": 0.6 }))
    parts.push(node("text", { ...faint, x: x.place(tick), y: HEIGHT - BOTTOM + 14, "text-anchor": "middle" }, tick))
  }
  for (const tick of y.ticks) {
    parts.push(node("path", { d: `M${LEFT} ${y.place(tick)}H${width - RIGHT}`, stroke: paint.border, "stroke-opacity": 0.6 }))
    parts.push(node("text", { ...faint, x: LEFT - 5, y: y.place(tick) + 4, "text-anchor": "end" }, format(tick, tick)))
  }
  parts.push(node("text", { ...faint, x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, "time step"))
  const clip = node("clipPath", { id: "time-steps-clip" })
  clip.append(node("rect", { x: LEFT, y: TOP, width: width - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM }))
  const inside = node("g", { "clip-path": "url(#time-steps-clip)" })
  let at = LEFT
  for (const line of data.lines) {
    const norms = line.y[gain]
    let d = "", broken = true
    norms.forEach((value, i) => {
      const place = value === null ? null : y.place(Math.max(value, FLOOR / 10))
      if (place !== null) d += `${broken ? "M" : "L"}${x.place(i + 1 + steps - norms.length).toFixed(1)} ${place.toFixed(1)}`
      broken = place === null
    })
    const stroke = paint[`run-${line.colour + 1}`]
    const dash = line.dashed ? { "stroke-dasharray": "5 4" } : {}
    inside.append(node("path", { d, fill: "none", stroke, "stroke-width": line.faint ? 1.2 : 2.2, ...dash }))
    parts.push(node("path", { d: `M${at} 10h16`, stroke, "stroke-width": 2.2, ...dash }), node("text", { x: at + 20, y: 14, fill: paint.text }, line.name))
    at += 34 + 6.1 * line.name.length
  }
  const pointed = node("path", { stroke: paint.faint, "stroke-dasharray": "3 3" })
  inside.append(pointed)
  svg.replaceChildren(clip, ...parts, inside)
  for (const [key, value] of Object.entries({ viewBox: `0 0 ${Math.max(width, at)} ${HEIGHT}`, height: HEIGHT, role: "img", "aria-label": data.alt })) svg.setAttribute(key, value)
  // The values at the step nearest to this place.
  return (place) => {
    const box = svg.viewBox.baseVal.width / svg.clientWidth
    const step = place === null ? 0 : Math.round(1 + (steps - 1) * Math.max(0, Math.min(1, (place * box - LEFT) / (width - LEFT - RIGHT))))
    pointed.setAttribute("d", step ? `M${x.place(step)} ${TOP}V${HEIGHT - BOTTOM}` : "")
    if (!step) return ""
    const values = data.lines.map((line) => `${line.name} ${read(line.y[gain][step - 1 - steps + line.y[gain].length] ?? null)}`)
    return `Step ${step}: ${values.join(" · ")}`
  }
}

function tell(data, gain) {
  const [line] = data.lines
  const norms = line.y[gain]
  const [first, last] = [norms[0], norms.at(-1)]
  const parts = []
  if (data.radius !== null) parts.push(`Largest |eigenvalue| of W_hh: ${read(data.radius * data.gains[gain])}`)
  if (first !== null && last) parts.push(`${line.name} at step 1 is ${read(first / last)} times that at step ${norms.length}`)
  return parts.map((part) => `${part}.`).join(" ")
}

export default function ({ data, parentElement }) {
  const find = (name) => parentElement.querySelector(name)
  const [svg, slider, words] = [find("svg"), find("input"), find(".words")]
  let state = states.get(svg)
  if (!state) {
    state = {}
    state.observer = new ResizeObserver(() => svg.clientWidth !== state.width && state.draw())
    states.set(svg, state)
    state.observer.observe(svg)
  }
  const gain = () => {
    const wanted = data.gains.indexOf(position)
    return wanted < 0 ? data.start : wanted
  }
  const shown = { ...data, range: range(data.lines) }
  find(".about").textContent = data.label
  slider.max = data.gains.length - 1
  slider.value = gain()
  slider.title = "Factor of the recurrent weights"
  state.draw = () => {
    state.width = svg.clientWidth
    const text = String(data.gains[gain()])
    find("output").textContent = text
    slider.setAttribute("aria-valuetext", text)
    const paint = colours(svg)
    const point = draw(svg, shown, gain(), paint, Math.max(280, svg.clientWidth))
    const rest = tell(data, gain())
    words.textContent = rest
    const move = (event) => (words.textContent = point(event.clientX - svg.getBoundingClientRect().left) || rest)
    svg.onpointermove = svg.onpointerdown = move
    svg.onpointerleave = () => {
      point(null)
      words.textContent = rest
    }
    find(".save").onclick = () => save(svg, paint, "time-steps.svg")
  }
  slider.oninput = () => {
    position = data.gains[Number(slider.value)]
    state.draw()
  }
  state.draw()
  return () => {
    state.observer.disconnect()
    states.delete(svg)
  }
}
