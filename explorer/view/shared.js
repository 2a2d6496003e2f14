// What the scripts of several components share: elements, events, axes, numbers and colours. It comes
// before their own code.

const SPACE = "http://www.w3.org/2000/svg"

function node(name, attributes, text) {
  const element = document.createElementNS(SPACE, name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  if (text !== undefined) element.textContent = text
  return element
}

function element(tag, className, text) {
  const node = document.createElement(tag)
  if (className) node.className = className
  if (text !== undefined) node.textContent = text
  return node
}

// A word of the glossary: a button with its key, which glossary_dialog.js listens to.
function word(term, text, help) {
  const button = element("button", "", text)
  button.type = "button"
  button.dataset.term = term
  button.title = help
  return button
}

// The colour of a leaf, by its index; it is a line below the name, wherever that stands.
const leafColour = (index) => `light-dark(${LEAVES.light[index]}, ${LEAVES.dark[index]})`

function underlineName(element, index) {
  const line = Number.isInteger(index) ? `underline 2px ${leafColour(index)}` : ""
  Object.assign(element.style, { textDecoration: line, textUnderlineOffset: "3px" })
}

// Tells the other components of the page.
const announce = (name, detail) => window.dispatchEvent(new CustomEvent(name, { detail }))

// Calls the listeners by the names of their events, with what is announced; returns what stops that.
function hear(listeners) {
  const stop = new AbortController()
  for (const [name, listener] of Object.entries(listeners)) {
    window.addEventListener(name, ({ detail }) => listener(detail), { signal: stop.signal })
  }
  return () => stop.abort()
}

// As many digits as distinguish ticks that are `step` apart.
const format = (value, step) => {
  if (value === 0) return "0"
  const size = Math.abs(value)
  const digits = Math.min(10, Math.max(1, Math.ceil(Math.log10(size / step) + 1e-9) + 1))
  const text = size >= 1e5 || size < 1e-3 ? String(value.toExponential(digits - 1)).replace(/\.?0+e/, "e") : String(+value.toPrecision(digits))
  return text.replaceAll("-", "−").replace("e+", "e")
}

const LINEAR = 2 // up to so many widths, the ticks of an axis are those of a linear one

// The number that an axis is even in, and back: the logarithm, or of both signs from a width on.
function evenly({ log, linear_width: width }) {
  if (log) return [Math.log10, (u) => 10 ** u]
  return width ? [(v) => Math.asinh(v / width), (u) => width * Math.sinh(u)] : [(v) => v, (u) => u]
}

// How far along an axis a number is, and the number there.
function shareOf(axis, v) {
  const [to] = evenly(axis)
  return (to(v) - to(axis.low)) / (to(axis.high) - to(axis.low) || 1)
}
function numberAt(axis, share) {
  const [to, back] = evenly(axis)
  return back(to(axis.low) + share * (to(axis.high) - to(axis.low)))
}

// What so small a share of an axis is at a number.
function grain(axis, v, share) {
  const [to] = evenly(axis)
  const slope = axis.linear_width ? Math.hypot(v, axis.linear_width) : 1
  return share * (to(axis.high) - to(axis.low)) * slope || share
}

// Positions of numbers on an axis, and its ticks.
function scale(axis, from, to) {
  const [by] = evenly(axis)
  const low = by(axis.low), high = by(axis.high)
  const span = high - low || 1
  const place = (v) => (axis.log && v <= 0 ? null : from + ((by(v) - low) / span) * (to - from))
  const ticks = []
  let step = Infinity
  if (axis.log) {
    const every = Math.max(1, Math.ceil(span / 4))
    for (let e = Math.ceil(low); e <= high; e += every) ticks.push(10 ** e)
    if (ticks.length < 2) ticks.push(axis.low, axis.high)
  } else if (axis.linear_width && Math.max(-low, high) > LINEAR) {
    // Powers of ten on both sides of 0, about 60 pixels apart; the first as far from 0.
    const every = Math.max(1, Math.round((60 * span) / Math.abs(to - from) / Math.LN10))
    const first = Math.ceil(Math.log10(axis.linear_width * Math.sinh(0.7 * every * Math.LN10)))
    if (low <= 0 && high >= 0) ticks.push(0)
    for (let e = first; by(10 ** e) <= Math.max(-low, high); e += every)
      ticks.push(...[-(10 ** e), 10 ** e].filter((tick) => tick >= axis.low && tick <= axis.high))
    ticks.sort((a, b) => a - b)
  } else {
    const rough = Math.max(axis.whole ? 1 : 0, (axis.high - axis.low || 1) / Math.max(3, Math.abs(to - from) / 60))
    const unit = 10 ** Math.floor(Math.log10(rough))
    step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= rough)
    for (let i = Math.ceil(axis.low / step); i * step <= axis.high + 1e-9 * (axis.high - axis.low); i++) ticks.push(i * step)
  }
  // The value at a place, within the axis and as round as the width allows.
  const value = (at) => {
    const v = Math.max(axis.low, Math.min(axis.high, numberAt(axis, (at - from) / (to - from))))
    const fine = 10 ** Math.floor(Math.log10(grain(axis, v, 1 / 200)))
    return +(Math.round(v / fine) * fine).toPrecision(12)
  }
  return { place, value, ticks, step, low: axis.low, high: axis.high }
}

function colours(root) {
  const style = getComputedStyle(root)
  const read = (name) => style.getPropertyValue(`--st-${name}-color`).trim()
  const theme = isDark(root) ? "dark" : "light"
  const { runs } = SURFACE[theme]
  return {
    text: read("text"),
    ground: read("background"),
    border: read("border"),
    main: read("blue"),
    beside: read("orange"),
    first: read("blue"),
    second: read("red"),
    faint: read("gray"),
    mark: read("red"),
    leaves: LEAVES[theme],
    ...Object.fromEntries(runs.map((colour, i) => [`run-${i + 1}`, colour])),
  }
}

function isDark(root) {
  // An element that is no longer in the page has no colour.
  const [r, g, b] = (getComputedStyle(root).color.match(/\d+/g) ?? [0, 0, 0]).map(Number)
  return 0.3 * r + 0.6 * g + 0.1 * b > 128
}

// Saves a drawing as a file of its own.
function save(svg, paint, file, size = 11) {
  const copy = svg.cloneNode(true)
  copy.querySelector(".reading")?.replaceChildren()
  const [, , width, height] = svg.getAttribute("viewBox").split(" ")
  copy.setAttribute("width", width)
  copy.setAttribute("font-family", "sans-serif")
  copy.setAttribute("font-size", size)
  copy.prepend(node("rect", { width, height, fill: paint.ground }))
  const link = document.createElement("a")
  link.href = URL.createObjectURL(new Blob([copy.outerHTML], { type: "image/svg+xml" }))
  link.download = file
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}
