// A row for each input: its name, a slider, fields for its numbers, the gradient, the shape, Reset;
// and one for each leaf made in the text, where each number has its place, without the last two. What the hand does is told to the window as `ax-drag`; `ax-numbers` brings the numbers of a frame.

const rows = new WeakMap() // by the root: the rows by name
const SHAPES = [[], [2], [3], [4], [2, 2], [2, 3], [3, 2], [3, 3]]
const PAUSE = 500 // ms after the last key until its number is kept

function make(tag, attributes) {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  return node
}

// The number itself if it is short; otherwise rounded, so that its box need not be wide.
function written(value) {
  const exact = String(value)
  const size = Math.abs(value)
  const plain = exact.length <= 8 ? exact : size >= 1e-3 && size < 1e6 ? +value.toPrecision(6) : (+value.toPrecision(5)).toExponential()
  return String(plain).replace("e+", "e")
}

// The text in lines that are broken between numbers only: half a number is another number.
function writeWhole(place, text) {
  const parts = text.split(/(\s+)/).map((part) => {
    if (!part.trim()) return part
    const number = make("span", { class: "number" })
    number.textContent = part
    return number
  })
  place.replaceChildren(...parts)
}

const shapeOf = (value) => (Array.isArray(value) ? [value.length, ...shapeOf(value[0])] : [])
const shapeText = (shape) => (shape.length === 0 ? "scalar" : shape.length === 1 ? `vector ${shape[0]}` : shape.length === 2 ? `matrix ${shape.join("×")}` : shape.join("×"))
const at = (value, index) => index.reduce((part, i) => part[i], value)

// Of a value, another with this shape: the same numbers, continued by one more each.
function reshape(value, shape) {
  const numbers = [value].flat(Infinity)
  let i = 0
  const next = () => {
    if (i >= numbers.length) numbers.push(+(numbers[i - 1] + 1).toPrecision(6))
    return numbers[i++]
  }
  const build = ([length, ...rest]) => (length === undefined ? next() : Array.from({ length }, () => build(rest)))
  return build(shape)
}

function places(shape) {
  const [length, ...rest] = shape
  if (length === undefined) return [[]]
  return Array.from({ length }, (_, i) => places(rest).map((place) => [i, ...place])).flat()
}

// One number: what of it is held, and what it tells.
function makeNumber(row, index, i) {
  const label = index.length ? `${row.name} at ${index.join(", ")}` : row.name
  const field = make("input", { type: "number", step: "any", "aria-label": label, title: "Type a number, or drag it sideways" })
  const slider = index.length ? null : make("input", { type: "range", step: "any", "aria-label": `${label}, slider` })
  const number = { field, slider, index, value: 0, held: false, moved: false }
  let timer

  number.show = (value) => {
    number.value = value
    if (field.getRootNode().activeElement !== field) field.value = written(value)
    else if ((field.value !== "" || number.held) && Number(field.value) !== value) field.value = value
    if (slider) slider.value = value
  }
  const tell = (value, phase) => {
    // Frames that were asked for earlier may still arrive after the hand has let go.
    number.held = true
    clearTimeout(number.release)
    if (phase === "end") number.release = setTimeout(() => (number.held = false), PAUSE)
    number.moved = phase === "move"
    const target = row.places?.[i] ?? (index.length ? { input: row.name, index } : { input: row.name })
    announce("ax-drag", { target, value, phase })
  }
  const end = () => {
    clearTimeout(timer)
    if (number.moved) tell(number.value, "end")
  }
  const move = (value) => {
    if (!Number.isFinite(value)) return
    tell(value, "move")
    number.show(value)
  }
  // To a multiple of a step, which is a round number of the decimal system.
  const round = (value, step) => +(Math.round(value / step) * step).toPrecision(12)
  const small = () => row.reach / 500

  const onKey = (event) => {
    const way = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key]
    const sideways = event.key === "ArrowLeft" || event.key === "ArrowRight"
    if (!way || (event.target === field && sideways) || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    const step = event.shiftKey ? row.reach / 500 : row.reach / 50
    move(round(number.value + way * step, step))
    clearTimeout(timer)
    timer = setTimeout(end, PAUSE)
  }

  field.oninput = () => field.value !== "" && (number.value = Number(field.value), slider && (slider.value = field.value), tell(number.value, "move"))
  field.onfocus = () => (field.value = number.value) // all its digits
  field.onchange = end
  field.onblur = () => (end(), (field.value = written(number.value)))
  field.onkeydown = (event) => (event.key === "Enter" ? end() : onKey(event))
  // Dragging the field sideways; a press without a movement puts the caret into it.
  let from = null
  field.onpointerdown = (event) => {
    from = { x: event.clientX, value: number.value, moved: false }
  }
  field.onpointermove = (event) => {
    if (!from || !event.buttons) return
    const way = event.clientX - from.x
    if (!from.moved && Math.abs(way) < 4) return
    if (!from.moved) field.setPointerCapture(event.pointerId)
    from.moved = true
    event.preventDefault()
    const step = event.shiftKey ? small() / 10 : small()
    move(round(from.value + way * step, step))
  }
  field.onpointerup = field.onpointercancel = () => {
    if (from?.moved) (field.blur(), end())
    from = null
  }
  if (slider) {
    slider.oninput = () => move(round(Number(slider.value), small()))
    slider.onchange = end
    slider.onblur = end
    slider.onkeydown = onKey
  }
  return number
}

function makeRow(data) {
  const shape = data.value === null ? null : shapeOf(data.value)
  const root = make("div", { class: "row" })
  const row = { root, name: data.name, shape: JSON.stringify(shape), reach: data.reach, inText: Boolean(data.places) }
  const name = make("span", { class: "name", title: data.name })
  row.label = name.appendChild(make("span", {}))
  row.label.textContent = data.name
  row.numbers = (shape ? places(shape) : []).map((index, i) => makeNumber(row, index, i))
  row.grad = make("span", { class: "grad" })
  row.grad.append("grad ", make("span", {}))
  const reset = make("button", { type: "button", title: `Reset ${data.name}`, "aria-label": `Reset ${data.name}` })
  reset.textContent = "↺"
  row.reset = reset
  reset.onclick = () => row.keep(null)
  const choice = make("select", { "aria-label": `Shape of ${data.name}`, title: "Scalar, vector or matrix" })
  const known = SHAPES.some((each) => JSON.stringify(each) === row.shape)
  for (const each of known || !shape ? SHAPES : [shape, ...SHAPES]) {
    const option = make("option", { value: JSON.stringify(each) })
    option.textContent = shapeText(each)
    choice.append(option)
  }
  choice.value = row.shape
  choice.onchange = () => row.keep(reshape(row.value ?? 1, JSON.parse(choice.value)))
  const scalar = shape?.length === 0
  const fields = make("div", { class: shape?.length === 1 ? "fields one" : "fields" })
  if (shape) fields.style.gridTemplateColumns = `repeat(${shape.at(-1) ?? 1}, auto)`
  if (!scalar) fields.append(...row.numbers.map((number) => number.field))
  const parts = scalar ? [row.numbers[0].slider, row.numbers[0].field] : [fields]
  const [line, rest] = [make("div", { class: "parts" }), make("div", { class: "rest" })]
  rest.append(row.grad, ...(row.inText ? [] : [choice, reset]))
  line.append(...parts, rest)
  root.append(name, line)
  row.show = (value, grad) => {
    writeWhole(row.grad.lastChild, grad)
    row.value = value
    row.gradient = grad
    for (const number of row.numbers) if (!number.held) number.show(at(value, number.index))
  }
  return row
}

function update(row, data, keep) {
  row.keep = (value) => {
    for (const number of row.numbers) number.held = false // a drag holds it a moment longer
    keep({ name: data.name, value })
  }
  Object.assign(row, { reach: data.reach, places: data.places })
  underlineName(row.label, data.colour)
  for (const { slider } of row.numbers) {
    if (!slider) continue
    slider.style.accentColor = data.colour === null ? "" : leafColour(data.colour)
    slider.min = -data.reach
    slider.max = data.reach
  }
  row.reset.disabled = !data.changed
  row.show(data.value, data.grad)
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".handles")
  let state = rows.get(root)
  if (!state) {
    state = { byName: new Map(), drawn: "" }
    rows.set(root, state)
    const paint = (detail) => {
      for (const [name, changed] of Object.entries(detail.inputs ?? {})) {
        const row = state.byName.get(name)
        const { value, grad } = { value: row?.value, grad: row?.gradient, ...changed }
        if (row && row.shape === JSON.stringify(shapeOf(value))) row.show(value, state.hidden ? "?" : grad)
      }
    }
    // A step of the walk hides the gradients that have not arrived.
    const hide = (names) => {
      for (const [name, { grad }] of state.byName) grad.classList.toggle("later", names.includes(name))
    }
    state.silence = hear({ "ax-numbers": paint, "ax-later": hide })
  }
  state.hidden = data.hidden
  const drawn = JSON.stringify(data.handles)
  if (state.drawn !== drawn) {
    state.drawn = drawn
    const before = state.byName
    state.byName = new Map()
    for (const each of data.handles) {
      const shape = JSON.stringify(each.value === null ? null : shapeOf(each.value))
      const kept = before.get(each.name)
      const row = kept?.shape === shape && kept.inText === Boolean(each.places) ? kept : makeRow(each)
      update(row, each, (event) => setTriggerValue("kept", event))
      state.byName.set(each.name, row)
    }
    const wanted = [...state.byName.values()].map((row) => row.root)
    if (wanted.length !== root.children.length || wanted.some((node, i) => node !== root.children[i])) root.replaceChildren(...wanted)
  }
  return () => {
    state.silence()
    rows.delete(root)
  }
}
