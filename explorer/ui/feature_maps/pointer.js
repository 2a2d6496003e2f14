// One channel of a layer: the pointer's pixel, its receptive field on the image, and the layer's
// window over its input with the sum as it is formed. shared.js and the other pointer_*.js come
// before it.

const NAMED = 4 // terms of a sum that are written one by one
const states = new WeakMap()

function make(root, send) {
  const state = { root, send, data: null, token: null, place: null, at: null, input: 0, frame: 0 }
  const picture = (name, tag) => {
    const figure = element("figure", name)
    const box = element("div", "box")
    const shown = element(tag)
    box.append(shown)
    const caption = element("figcaption")
    figure.append(box, caption)
    return { figure, box, shown, caption }
  }
  const frame = (of, name) => of.box.appendChild(element("i", name))
  const [image, source, map] = [picture("image", "img"), picture("source", "canvas"), picture("map", "canvas")]
  const frames = { field: frame(image, "field"), window: frame(source, "window"), kept: frame(map, "kept"), pixel: frame(map, "pixel") }
  const flow = element("div", "flow")
  const reading = element("p", "reading")
  const field = word("receptive_field", "Receptive field", "Opens the glossary")
  reading.append(element("b"), element("span"), field, element("span", "words"))
  flow.append(image.figure, source.figure, map.figure, reading)
  const sum = element("div", "sum")
  const tables = element("div", "tables")
  const about = element("p", "about")
  const spoken = element("p", "spoken")
  spoken.setAttribute("aria-live", "polite")
  root.replaceChildren(flow, sum, tables, about, spoken)
  Object.assign(state, { image, source, map, frames, reading, sum, tables, about, spoken })

  const select = element("select")
  select.setAttribute("aria-label", "Input channel")
  select.title = "The input channel whose window is shown; those that contribute most come first"
  select.onchange = () => (state.input = Number(select.value), paintSource(state), show(state))
  state.select = select
  listen(state)
  return state
}

// -- data -----------------------------------------------------------------------------------------

async function take(state, data) {
  state.token = data.token
  const a = data.arithmetic
  const names = ["inputs", "kernels", "rest", "mean", "variance"]
  const [output, ...arrays] = await Promise.all([unpack(data.output), ...names.map((name) => unpack(a?.[name]))])
  if (state.token !== data.token) return // another channel was chosen meanwhile
  state.data = { ...data, output, arithmetic: a && { ...a, ...Object.fromEntries(names.map((name, i) => [name, arrays[i]])) } }
  state.input = 0
  state.at = null
  arrange(state)
}

// What stays while the pointer moves: the pictures, the captions, the choice of an input channel.
function arrange(state) {
  const { data, image, source, map, select } = state
  const [height, width] = data.output.shape
  if (image.shown.src !== data.image.src) image.shown.src = data.image.src
  image.shown.alt = "The network's input with the receptive field of the position"
  image.box.style.aspectRatio = `${data.image.width} / ${data.image.height}`
  image.box.classList.toggle("smooth", data.image.width > 100)
  image.caption.textContent = "Image as the network sees it"
  map.box.tabIndex = 0
  map.box.setAttribute("role", "application")
  map.box.setAttribute("aria-label", `Channel ${data.channel} of ${data.layer}, ${height} × ${width} values. The arrow keys move by one position, Enter keeps it.`)
  map.box.style.aspectRatio = `${width} / ${height}`
  map.caption.textContent = "Point at a position; press to keep it"
  const a = data.arithmetic
  source.figure.hidden = !a?.kind
  state.root.querySelector(".flow").classList.toggle("short", !a?.kind)
  if (a?.kind) {
    const [, tall, wide] = a.inputs.shape
    state.extent = extentOf(a.rows, a.columns, tall, wide)
    const { top, bottom, left, right } = state.extent
    source.box.style.aspectRatio = `${right - left} / ${bottom - top}`
    source.shown.setAttribute("role", "img")
    select.replaceChildren(...a.channels.map((channel, i) => Object.assign(element("option", "", `input ${channel}`), { value: i })))
    const count = a.count > a.channels.length ? ` of ${a.count}, the strongest ${a.channels.length}` : a.count > 1 ? ` of ${a.count}` : ""
    source.caption.replaceChildren(...(a.channels.length > 1 ? [select] : [`Layer's input ${a.channels[0]}`]), count)
    state.limits = { inputs: largestOf(a.inputs.values), signed: a.inputs.values.some((value) => value < 0) }
    if (a.kernels) state.limits.kernels = largestOf(a.kernels.values)
  }
  paintSource(state)
  settle(state)
}

function paintSource(state) {
  const { data, source } = state
  const a = data.arithmetic
  if (!a?.kind) return
  const [, height, width] = a.inputs.shape
  const values = a.inputs.values.subarray(state.input * height * width, (state.input + 1) * height * width)
  paintMap(source.shown, { height, width, values }, state.extent, largestOf(values), state.limits.signed, data.colours)
  source.shown.setAttribute("aria-label", `Input channel ${a.channels[state.input]} of the layer`)
  source.box.classList.toggle("smooth", width > 160)
  state.select.value = state.input
}

// The selected position and the colours' limit come in a message of their own.
function settle(state) {
  const place = window.axPointerPlace
  const { data, map } = state
  if (!data || place?.token !== data.token) return
  const [height, width] = data.output.shape
  state.place = { row: place.row, column: place.column }
  const painted = JSON.stringify([data.token, place.limit, place.signed])
  if (state.painted !== painted) {
    paintMap(map.shown, { height, width, values: data.output.values }, mapExtent(height, width), place.limit, place.signed, data.colours)
    map.box.classList.toggle("smooth", width > 360)
  }
  state.painted = painted
  show(state)
}

// -- what moves with the pointer ------------------------------------------------------------------

function show(state) {
  const { data, frames } = state
  const { row, column } = state.at ?? state.place ?? { row: 0, column: 0 }
  const [height, width] = data.output.shape
  const pixel = (at) => [at.column / width, at.row / height, (at.column + 1) / width, (at.row + 1) / height]
  place(frames.pixel, pixel({ row, column }))
  place(frames.kept, state.at && state.place ? pixel(state.place) : [0, 0, 0, 0])
  const value = data.output.values[row * width + column]
  const { words, box } = fieldAt(data, row, column)
  place(frames.field, box)
  const [shown, position, , about] = state.reading.children
  write(shown, number(value))
  write(position, `row ${row}, column ${column}`)
  write(about, `: ${words}`)
  const a = data.arithmetic
  state.about.textContent = data.about ?? (a.kind ? "" : `How a ${a.type} computes its values is not shown here.`)
  if (!a?.kind) {
    fill(state, [])
    draw(state, [])
    return
  }
  place(frames.window, windowFrame(a.rows, a.columns, row, column, state.extent))
  SHOWN[a.kind](state, a, row, column, value)
}

function fieldAt({ field, image }, row, column) {
  if (!field) return { words: "not known for this layer.", box: [0, 0, 0, 0] }
  const [[top, bottom], [left, right]] = [field.rows[row], field.columns[column]]
  if (top > bottom || left > right) return { words: "no pixel of the image.", box: [0, 0, 0, 0] }
  const box = [left / image.width, top / image.height, (right + 1) / image.width, (bottom + 1) / image.height]
  if (field.size.includes(null)) return { words: "the whole image, not a window.", box }
  const [tall, wide] = [bottom - top + 1, right - left + 1]
  const clipped = tall < field.size[0] || wide < field.size[1]
  return { words: `${field.size.join(" × ")} pixels${clipped ? `, of which ${tall} × ${wide} lie in the image` : ""}.`, box }
}

const SHOWN = {
  convolution(state, a, row, column, value) {
    const { sums, rest, total } = convolve(a, row, column)
    const named = [...new Set([...a.channels.keys()].slice(0, NAMED).concat(state.input))]
    if (named.length > NAMED) named.splice(NAMED - 1, 1)
    named.sort((i, j) => a.channels[i] - a.channels[j])
    const others = a.count - named.length
    const remaining = sums.reduce((all, sum, i) => (named.includes(i) ? all : all + sum), rest)
    const terms = [term(number(a.bias), "bias"), ...named.map((i) => term(number(sums[i]), `input ${a.channels[i]}`, i))]
    if (others) terms.push(term(number(remaining), others === 1 ? "1 other input" : `${others} other inputs`))
    fill(state, [term(number(value), "value"), "=", ...terms.flatMap((node, i) => (i ? ["+", node] : [node]))])
    const { cells, kernel, product } = products(a, state.input, row, column)
    const { inputs, kernels } = state.limits
    const sum = number(sums[state.input])
    draw(state, [
      ["", "Window in the input", cells, inputs],
      ["×", "Kernel", kernel, kernels],
      ["=", `Products, together ${sum}`, product, inputs * kernels],
    ])
    const count = (a.kernels.values.length / a.channels.length) * a.count
    const padding = cells.flat().some((cell) => !cell.inside) ? " Striped: padding." : ""
    state.about.textContent = cells.flat().length
      ? `All ${count.toLocaleString("en")} products and the bias add up to ${number(total, 7)}; PyTorch computed ${number(value, 7)}.${padding}`
      : "No input reaches this position: its value is the bias."
  },
  maximum(state, a, row, column, value) {
    const { cells, best } = pool(a, row, column)
    fill(state, [term(number(value), "value"), "=", term(number(best?.value), `the largest, at row ${best?.row}, column ${best?.column}`)])
    draw(state, [["", "Window in the input", cells, state.limits.inputs, best]])
  },
  average(state, a, row, column, value) {
    const { cells, sum, divisor } = pool(a, row, column)
    fill(state, [term(number(value), "value"), "=", term(number(sum), "sum of the window"), "/", term(String(divisor), "values")])
    draw(state, [["", "Window in the input", cells, state.limits.inputs]])
  },
  normalization(state, a, row, column, value) {
    const { mean, variance } = statisticsAt(a, row, column)
    const x = a.inputs.values[row * a.inputs.shape[2] + column]
    const parts = [term(number(value), "value"), "= (", term(number(x), "x"), "−", term(number(mean), "mean"), ") / √(", term(number(variance), "variance"), "+", term(number(a.eps), "eps"), ") ·", term(number(a.weight), "weight"), "+", term(number(a.bias), "bias")]
    fill(state, parts)
    draw(state, [])
  },
  function(state, a, row, column, value) {
    const x = a.inputs.values[row * a.inputs.shape[2] + column]
    fill(state, [term(number(value), "value"), "=", term(a.formula, "formula"), "with", term(number(x), "x")])
    draw(state, [])
  },
}

// -- the hand ---------------------------------------------------------------------------------------

function listen(state) {
  const { box } = state.map
  const positionOf = (event) => {
    const r = box.getBoundingClientRect()
    const [height, width] = state.data.output.shape
    const whole = (share, length) => Math.min(length - 1, Math.max(0, Math.floor(share * length)))
    return { row: whole((event.clientY - r.top) / r.height, height), column: whole((event.clientX - r.left) / r.width, width) }
  }
  const move = (at) => {
    state.at = at
    if (!state.frame) state.frame = requestAnimationFrame(() => ((state.frame = 0), state.data && show(state)))
  }
  const keep = () => {
    if (!state.at) return
    state.place = state.at
    state.send("placed", state.at)
  }
  let touched = false
  box.onpointermove = (event) => state.data && (event.pointerType === "mouse" || touched) && move(positionOf(event))
  box.onpointerdown = (event) => {
    if (!state.data) return
    touched = event.pointerType !== "mouse"
    if (touched) box.setPointerCapture(event.pointerId)
    move(positionOf(event))
  }
  box.onpointerup = (event) => {
    if (!state.data || event.button > 0) return
    move(positionOf(event))
    keep()
    touched = false
  }
  box.onpointercancel = () => (touched = false)
  box.onpointerleave = () => !touched && state.data && move(null)
  box.onblur = () => state.data && move(null)
  box.onkeydown = (event) => {
    const way = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key]
    if (event.key === "Enter" || event.key === " ") (event.preventDefault(), keep())
    if (event.key === "Escape") move(null)
    if (!way || !state.data || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    const [height, width] = state.data.output.shape
    const from = state.at ?? state.place
    const within = (value, length) => Math.min(length - 1, Math.max(0, value))
    move({ row: within(from.row + way[0], height), column: within(from.column + way[1], width) })
    clearTimeout(state.saying)
    state.saying = setTimeout(() => (state.spoken.textContent = state.reading.textContent), 250)
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".pointer")
  let state = states.get(root)
  if (!state) states.set(root, (state = make(root, setTriggerValue)))
  state.send = setTriggerValue
  if (state.token !== data.token) take(state, data)
  const settled = () => settle(state)
  window.addEventListener("ax-pointer-place", settled)
  settled()
  return () => window.removeEventListener("ax-pointer-place", settled)
}
