// Shows an SVG that the server laid out. It can be panned and zoomed, a click selects, the number of a
// leaf can be pulled, and a step of the backward pass sends numbers along its edges. The SVG is
// replaced only when its digest changes; selection and playback only toggle classes, so zoom and pan
// survive a rerun. Uses shared.js.
//
// Events of the window: `ax-hover` {from, nodes, tensor, line} or null; `ax-numbers`
// {nodes: {id: {value: [lines], grad: [lines], hook: [line]}}, factors: {edge: words}}, as
// `numbers_of` in drawn_pass.py makes them; `ax-drag` {target, value, phase}; `ax-later` [names of leaves].

// -- panning and zooming --------------------------------------------------------------------------

// Dragging pans, Ctrl and the wheel or two fingers zoom, the wheel alone scrolls the page.

const STEP = 1.25
const MARGIN = 10
const TOOLS = 46 // what the buttons take of a box's top
const READABLE = 1.301 // the labels' 10 units are then 13 pixels
const WHOLE = 1.1 // a whole graph with words of 11 pixels is better than a part with larger ones
const LEGIBLE = 0.84 // where there is little room
const LEAST = 0.65 // on a phone: that the result is seen is worth more than words that need no zoom
const PHONE = 480 // the width of a box that is narrower than any on a desktop, in pixels
const LARGEST = 1.75
const FACTOR_SIZE = 12 // of the factors on edges, in units of the drawing
const LEGIBLE_FACTOR = 12.9 // where they would be smaller, they are not shown
const HINT_MS = 1400
const PLATFORM_KEY = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl"

// Views outlive an unmount, keyed by the layout.
const views = new Map()

// The smallest box around these elements.
function around(elements) {
  const all = elements.map((one) => one.getBoundingClientRect())
  const least = (side) => Math.min(...all.map((r) => r[side]))
  const most = (side) => Math.max(...all.map((r) => r[side]))
  return { left: least("left"), top: least("top"), right: most("right"), bottom: most("bottom") }
}

function mount(parent) {
  const canvas = parent.querySelector(".canvas")
  const hint = parent.querySelector(".hint")
  hint.textContent = `${PLATFORM_KEY} + wheel zooms`
  const box = { canvas, parent, svg: null, view: null, touched: false, pointers: new Map() }
  Object.assign(box, { order: [], places: {}, draggable: {}, numbers: new Map(), changed: new Set(), hidden: new Set() })

  box.size = () => {
    const { width, height } = canvas.getBoundingClientRect()
    return [width || 600, height || 400]
  }

  box.draw = () => {
    if (!box.svg || !box.view) return
    const [w, h] = box.size()
    const { x, y, k } = box.view
    box.svg.setAttribute("viewBox", `${x} ${y} ${w / k} ${h / k}`)
    box.svg.classList.toggle("far", FACTOR_SIZE * k < LEGIBLE_FACTOR)
    // A finger scrolls the page over a drawing that has nothing above or below.
    canvas.style.touchAction = y <= 0 && y + h / k >= box.bounds.height ? "pan-y" : "none"
    if (box.touched) views.set(box.layout, { ...box.view })
  }

  box.whole = ({ width, height } = box.bounds) => {
    const [w, h] = box.size()
    return Math.min((w - 2 * MARGIN) / width, (h - 2 * MARGIN) / height, LARGEST)
  }

  // Centred where it fits at scale k; otherwise from the top.
  box.place = (k) => {
    const [w, h] = box.size()
    const { width, height } = box.bounds
    box.view = { k, x: (width - w / k) / 2, y: Math.min((height - h / k) / 2, 0) }
    if (height * k > h) box.view.y = -(w < PHONE ? TOOLS : MARGIN) / k
    box.draw()
  }

  // The first view: all of it if its words can then be read, else a readable part.
  box.open = () => {
    const whole = box.whole()
    const readable = box.small ? 1 : READABLE
    const least = box.small ? LEGIBLE : box.size()[0] < PHONE ? LEAST : WHOLE
    box.place(box.still || whole > least ? whole : readable)
    if (!box.centre() && !box.small && box.size()[0] >= PHONE) {
      box.place(WHOLE)
      box.centre()
    }
  }

  // A graph wider than the box: centre the nodes at the height that is seen; where these are wider,
  // too, the operations among them, or one of these. Returns whether the nodes that are seen have
  // room.
  box.centre = () => {
    const c = canvas.getBoundingClientRect()
    if (box.bounds.width * box.view.k <= c.width) return true
    const seen = [...box.svg.querySelectorAll("g.node")].filter((node) => {
      const r = node.getBoundingClientRect()
      return r.top < c.bottom && r.bottom > c.top
    })
    if (!seen.length) return true // a box that is not shown has no height
    const all = around(seen)
    const [left, right] = [all.left - MARGIN - c.left, all.right + MARGIN - c.right]
    const hasRoom = right <= left
    const operations = seen.filter((node) => !node.matches(".leaf, .frozen"))
    const middle = (r) => (r.left + r.right) / 2
    let centred = hasRoom || !operations.length ? all : around(operations)
    if (operations.length && centred.right - centred.left > c.width) {
      const far = (node) => Math.abs(middle(node.getBoundingClientRect()) - middle(centred))
      centred = around([operations.reduce((one, other) => (far(other) < far(one) ? other : one))])
    }
    const shift = middle(centred) - middle(c)
    box.view.x += (hasRoom ? shift : Math.min(right, Math.max(left, shift))) / box.view.k
    box.draw()
    return hasRoom
  }

  // Bring a node into view if a part of it is not; with it the others, if there is room for all.
  box.reveal = (id, others = []) => {
    const named = [id, ...others].map((name) => name && box.svg.getElementById(name)).filter(Boolean)
    const nodes = named.map((one) => titleOf(one) || one)
    if (!nodes.length || box.still) return
    const c = canvas.getBoundingClientRect()
    const [one, all] = [nodes.slice(0, 1), nodes].map(around)
    const r = all.right - all.left <= c.width && all.bottom - all.top <= c.height ? all : one
    if (r.left >= c.left && r.right <= c.right && r.top >= c.top && r.bottom <= c.bottom) return
    box.view.x += ((r.left + r.right) / 2 - c.left - c.width / 2) / box.view.k
    box.view.y += ((r.top + r.bottom) / 2 - c.top - c.height / 2) / box.view.k
    box.touched = true
    box.draw()
  }

  box.pan = (dx, dy) => {
    box.view.x -= dx / box.view.k
    box.view.y -= dy / box.view.k
    box.touched = true
    box.draw()
  }

  // Zoom by `factor` with the point (px, py) of the window staying where it is.
  box.zoom = (factor, px, py) => {
    const v = box.view
    if (!v) return
    const c = canvas.getBoundingClientRect()
    const k = Math.min(8, Math.max(0.02, v.k * factor))
    v.x += (px - c.left) * (1 / v.k - 1 / k)
    v.y += (py - c.top) * (1 / v.k - 1 / k)
    v.k = k
    box.touched = true
    box.draw()
  }

  box.fit = () => {
    box.touched = true
    box.place(box.whole())
  }

  canvas.onwheel = (event) => {
    if (box.still) return
    if (!event.ctrlKey && !event.metaKey) {
      hint.classList.add("shown")
      clearTimeout(box.hinting)
      box.hinting = setTimeout(() => hint.classList.remove("shown"), HINT_MS)
      return
    }
    event.preventDefault()
    const pixels = event.deltaY * (event.deltaMode ? 33 : 1) // Firefox counts in lines
    box.zoom(Math.exp(Math.max(-0.2, Math.min(0.2, -pixels * 0.01))), event.clientX, event.clientY)
  }
  canvas.ondblclick = (event) => box.still || event.target.closest("g.node") || box.fit()

  listenToPointers(box)
  const middle = () => {
    const c = canvas.getBoundingClientRect()
    return [(c.left + c.right) / 2, (c.top + c.bottom) / 2]
  }
  parent.querySelector(".in").onclick = () => box.zoom(STEP, ...middle())
  parent.querySelector(".out").onclick = () => box.zoom(1 / STEP, ...middle())
  parent.querySelector(".all").onclick = box.fit

  box.observer = new ResizeObserver(() => {
    if (box.touched || !box.svg) return box.draw()
    if (box.factored && box.sized !== String(box.size())) box.again() // they may fit now, or no longer
    else box.open()
  })
  box.observer.observe(canvas)
  return box
}

// One pointer pans, or changes the number of the leaf it was pressed on; two pan and zoom.
function listenToPointers(box) {
  const { canvas, pointers } = box
  const spread = () => {
    const [a, b] = [...pointers.values()]
    return [Math.hypot(a.x - b.x, a.y - b.y), (a.x + b.x) / 2, (a.y + b.y) / 2]
  }
  canvas.onpointerdown = (event) => {
    if (box.still || event.button) return
    const at = { x: event.clientX, y: event.clientY }
    if (event.isPrimary) {
      pointers.clear() // it may have been let go outside
      box.press = { ...at, number: numberUnder(box, event), moved: false, pull: null }
    } else {
      box.press.pull?.end()
      Object.assign(box.press, { moved: true, pull: null })
    }
    pointers.set(event.pointerId, at)
  }
  canvas.onpointermove = (event) => {
    const at = pointers.get(event.pointerId)
    if (!at || !box.view) return
    const { press } = box
    if (!press.moved) {
      const [dx, dy] = [event.clientX - press.x, event.clientY - press.y]
      if (Math.hypot(dx, dy) < 4) return
      press.moved = true
      if (press.number && Math.abs(dx) >= Math.abs(dy)) press.pull = pullNumber(box, press.number)
    }
    // Earlier, and clicks would die.
    if (!canvas.hasPointerCapture(event.pointerId)) canvas.setPointerCapture(event.pointerId)
    const before = pointers.size > 1 ? spread() : null
    const [dx, dy] = [event.clientX - at.x, event.clientY - at.y]
    Object.assign(at, { x: event.clientX, y: event.clientY })
    if (press.pull) return press.pull.move(event.clientX - press.x, event.shiftKey)
    if (!before) return box.pan(dx, dy)
    const [length, x, y] = spread()
    box.pan(x - before[1], y - before[2])
    box.zoom(length / Math.max(before[0], 1), x, y)
  }
  const release = (event) => {
    if (!pointers.delete(event.pointerId) || pointers.size) return
    box.press.pull?.end()
    box.moved = box.press.moved
  }
  canvas.onpointerup = canvas.onpointercancel = release
  // Two fingers are ours, also where one would scroll the page.
  for (const name of ["touchstart", "touchmove"]) {
    const two = (event) => event.touches.length > 1 && !box.still && event.preventDefault()
    canvas.addEventListener(name, two, { passive: false })
  }
}

const CHANGED_MS = 600
const PIXELS_A_STEP = 4
const GRAD = "grad "
const NUMBER = /-?(?:\d[\d.]*(?:e[-+]?\d+)?|inf|nan)/g
const CHARACTER = 6.02 // the width of one, in units of the drawing

// -- hovering -------------------------------------------------------------------------------------

function hover(box, node) {
  if (box.over === node?.id) return
  box.over = node?.id
  const [tensor, line] = box.places[box.over] ?? []
  if (!node) announce("ax-hover", null)
  else if (tensor !== undefined) announce("ax-hover", { from: "graph", nodes: [node.id], tensor, line })
}

function showHover(box, detail) {
  const { nodes = [], tensor = null, line = null } = detail ?? {}
  for (const node of box.order) {
    const [own, at] = box.places[node.id] ?? [null, null]
    const same = tensor !== null ? own === tensor : !nodes.length && line !== null && at === line
    node.classList.toggle("hovered", same || nodes.includes(node.id))
  }
}

// -- numbers --------------------------------------------------------------------------------------

// The lines of a node's label that hold numbers, and where its box ends.
function findNumbers(node) {
  const texts = [...node.querySelectorAll("text")]
  const y = (text) => Number(text.getAttribute("y"))
  const top = Math.min(...texts.map(y))
  for (const text of texts) if (y(text) > top + 2 && !text.classList.length) text.classList.add("value")
  const having = (name) => texts.filter((text) => text.classList.contains(name))
  const shape = node.querySelector("path, polygon, ellipse")?.getBBox()
  return {
    value: having("value"),
    grad: having("gradient"),
    hook: having("hook"),
    right: shape ? shape.x + shape.width - 4 : Infinity,
  }
}

// Replaces the lines; not where there are more or fewer, for which there is no room.
function writeLines(box, numbers, texts, lines) {
  if (!lines || texts.length !== lines.length) return
  texts.forEach((text, i) => {
    if (text.textContent === lines[i]) return
    text.textContent = lines[i]
    const room = numbers.right - Number(text.getAttribute("x"))
    if (lines[i].length * CHARACTER > room) {
      text.setAttribute("textLength", room)
      text.setAttribute("lengthAdjust", "spacingAndGlyphs")
    } else text.removeAttribute("textLength")
    underline(text)
    text.classList.add("changed")
    box.changed.add(text)
  })
}

// The lines below the numbers of a text that can be pulled.
function underline(text) {
  const path = text.nextElementSibling
  if (!path?.matches(".pull")) return
  const { textContent: words } = text
  const width = Number(text.getAttribute("textLength") ?? words.length * CHARACTER) / words.length
  const [x, y] = [Number(text.getAttribute("x")), Number(text.getAttribute("y")) + 2.5]
  const part = (match) => `M${x + match.index * width} ${y}h${match[0].length * width}`
  path.setAttribute("d", [...words.matchAll(NUMBER)].map(part).join(""))
}

// The factors on edges. One that is wider than what it replaces grows to both sides.
function paintFactors(box, factors) {
  for (const [id, words] of Object.entries(factors ?? {})) {
    const text = box.svg.getElementById(id)?.querySelector("text")
    if (!text || text.textContent.trim() === words) continue
    text.textContent = words
    text.classList.add("changed")
    box.changed.add(text)
  }
}

function paintNumbers(box, { nodes, factors } = {}) {
  stopWalk(box)
  paintFactors(box, factors)
  for (const [id, lines] of Object.entries(nodes ?? {})) {
    const numbers = box.numbers.get(id)
    if (!numbers) continue
    writeLines(box, numbers, numbers.value, lines.value)
    const grad = lines.grad?.map((line, i) => (i ? " ".repeat(GRAD.length) : GRAD) + line)
    writeLines(box, numbers, numbers.grad, grad)
    writeLines(box, numbers, numbers.hook, lines.hook)
  }
  clearTimeout(box.resting)
  box.resting = setTimeout(() => {
    for (const text of box.changed) text.classList.remove("changed")
    const drawn = [...box.changed].map((text) => text.closest("g.node")).filter(Boolean)
    for (const node of new Set(drawn)) label(box, node)
    box.changed.clear()
  }, CHANGED_MS)
}

// -- pulling a leaf's number ----------------------------------------------------------------------

const PLACE = ["input", "index", "line", "column", "end"]
const placeKey = (target) => PLACE.map((part) => String(target[part] ?? "")).join("|")

// The number of a leaf that is nearest to the pointer.
function numberUnder(box, event) {
  const id = event.target.closest?.("g.node")?.id
  const far = ({ at: [line, place] }) => {
    const text = box.numbers.get(id).value[line]
    const match = [...(text?.textContent.matchAll(NUMBER) ?? [])][place]
    if (!match) return Infinity
    const r = text.getBoundingClientRect()
    const x = r.left + ((match.index + match[0].length / 2) / text.textContent.length) * r.width
    return Math.hypot(event.clientX - x, event.clientY - (r.top + r.bottom) / 2)
  }
  const numbers = box.draggable[id]
  return numbers ? numbers.reduce((a, b) => (far(b) < far(a) ? b : a)) : null
}

// As in the editor, a step is about a tenth of a small number and a hundredth of a larger one.
function stepOf({ step, value }) {
  const size = value ? Math.floor(Math.log10(Math.abs(value))) : 0
  return step ?? 10 ** Math.max(-12, Math.min(size - 1, Math.max(-1, size - 2)))
}

// The value this many steps away, without the digits that binary fractions add.
function stepped(value, step, count) {
  return Number((value + step * count).toFixed(Math.max(0, Math.min(20, 1 - Math.floor(Math.log10(step))))))
}

function pullNumber(box, number) {
  const { value: start, step: _, at: __, ...target } = number
  const step = stepOf(number)
  let value = start
  let frame = 0
  const send = (phase) => {
    frame = 0
    announce("ax-drag", { target, value, phase })
  }
  box.parent.querySelector(".box").classList.add("pulling")
  return {
    move(dx, fine) {
      value = stepped(start, fine ? step / 10 : step, Math.round(dx / PIXELS_A_STEP))
      frame ||= requestAnimationFrame(() => send("move"))
    },
    end() {
      cancelAnimationFrame(frame)
      box.parent.querySelector(".box").classList.remove("pulling")
      send("end")
    },
  }
}

// One step with the keyboard, of the number pulled last or the first; the drag ends when the keys
// rest.
function nudge(box, id, count) {
  const numbers = box.draggable[id]
  const number = numbers.find((one) => placeKey(one) === box.pulled) ?? numbers[0]
  const { value, step: _, at: __, ...target } = number
  const detail = { target, value: stepped(value, stepOf(number), count) }
  announce("ax-drag", { ...detail, phase: "move" })
  clearTimeout(box.nudging)
  box.nudging = setTimeout(() => announce("ax-drag", { ...detail, phase: "end" }), CHANGED_MS)
}

// A drag, from wherever: the leaf shows its number at once.
function showDrag(box, { target, value }) {
  for (const [id, numbers] of Object.entries(box.draggable)) {
    const number = numbers.find((one) => placeKey(one) === placeKey(target))
    if (!number) continue
    box.pulled = placeKey(target)
    number.value = value
    const [line, place] = number.at
    const lines = box.numbers.get(id)?.value.map((text) => text.textContent) ?? []
    const shown = String(Number(value.toPrecision(5)))
    let count = 0
    lines[line] = lines[line]?.replace(NUMBER, (old) => (count++ === place ? shown : old))
    paintNumbers(box, { nodes: { [id]: { value: lines } } })
  }
}

function listen(box) {
  const over = (event) => hover(box, event.target.closest("g.node"))
  const away = () => hover(box, null)
  const own = { pointerover: over, focusin: over, pointerleave: away, focusout: away }
  for (const [name, listener] of Object.entries(own)) box.canvas.addEventListener(name, listener)
  return hear({
    "ax-hover": (detail) => showHover(box, detail),
    "ax-numbers": (detail) => paintNumbers(box, detail ?? {}),
    "ax-drag": (detail) => showDrag(box, detail),
  })
}

// -- arrows ---------------------------------------------------------------------------------------

// Each edge has a second head, at the end where it starts. At rest the first is seen, in the walk,
// in which gradients go the other way, the second; the line reaches as far either way.
function addHeads(svg) {
  for (const edge of svg.querySelectorAll("g.edge")) {
    const [path, head] = [edge.querySelector("path"), edge.querySelector("polygon")]
    if (!path || !head) continue // a dashed line has no head
    const length = path.getTotalLength()
    const [start, end] = [path.getPointAtLength(0), path.getPointAtLength(length)]
    const points = [...head.points]
    const away = ({ x, y }) => Math.hypot(x - end.x, y - end.y)
    const tip = points.reduce((a, b) => (away(b) > away(a) ? b : a))
    const size = away(tip)
    const inner = path.getPointAtLength(Math.min(size, length))
    const [dx, dy] = [(inner.x - start.x) / size, (inner.y - start.y) / size]
    const side = (sign) => [inner.x - sign * dy * size * 0.35, inner.y + sign * dx * size * 0.35]
    const back = [[start.x, start.y], side(1), side(-1)].map((point) => point.join()).join(" ")
    head.classList.add("ahead")
    head.after(
      node("polygon", { class: "back", points: back }),
      node("path", { class: "back", d: `M${end.x} ${end.y}L${tip.x} ${tip.y}` }),
    )
  }
}

// -- a step of the walk ---------------------------------------------------------------------------

// A gradient moves along each edge, is multiplied by the factor it meets there, stands at the nodes
// as a part of a sum, and becomes their total. `data.hidden`, `arriving`, `moving` and `sums` are
// those of `Marks` in graph.py.

const MOVE_MS = 600
const PRODUCT_MS = 1100 // with a product on the way
const SUM_MS = 300
const [TO_FACTOR, FROM_FACTOR] = [0.3, 0.75] // the parts of the time between which the product stands
const [MOVES_NOW, ARRIVED, DONE] = [0, 1, 2]
const LEAST_PIXELS = 13 // the height of the numbers, however small the graph is drawn
const CALM = window.matchMedia("(prefers-reduced-motion: reduce)")

function paintWalk(box, data) {
  const { walking, hidden = [], arriving = [], moving = [], sums = [] } = data
  const step = JSON.stringify([walking, data.current, hidden, arriving, moving, sums])
  if (box.step === step && box.stepOf === box.digest) return
  const first = box.step === undefined
  const still = first || box.step === step || !walking || !moving.length || CALM.matches
  Object.assign(box, { step, stepOf: box.digest })
  cancelAnimationFrame(box.walking)

  const show = (phase) => {
    const waits = new Set(hidden)
    const added = new Set(sums.filter((sum) => sum.added).map((sum) => sum.node))
    for (const id of arriving) if (phase === MOVES_NOW || (phase === ARRIVED && added.has(id))) waits.add(id)
    for (const node of box.order) node.classList.toggle("later", waits.has(node.id))
    const leaves = box.order.filter((node) => node.matches(".leaf.later"))
    const names = leaves.map((node) => node.querySelector("text")?.textContent.trim())
    announce("ax-later", names) // the handles hide theirs
    const layer = clearWalk(box)
    box.svg.classList.toggle("moving", phase === MOVES_NOW)
    const labels = []
    for (const sum of sums) {
      const node = box.svg.getElementById(sum.node)
      const words = [sum.before, sum.parts, sum.total][phase]
      if (!node || !words || (!sum.added && node.querySelector(".gradient"))) continue
      const label = framed(box, layer, words)
      label.put((label.at = placeOf(box, node, label, labels)))
      labels.push(label)
    }
    if (phase !== MOVES_NOW) for (const move of moving) standOnEdge(box, layer, move)
    return layer
  }
  box.rest = () => show(DONE)
  if (still) return void box.rest()

  const layer = show(MOVES_NOW)
  const labels = moving.map((move) => onEdge(box, layer, move)).filter(Boolean)
  const lasts = moving.some((move) => move.product !== move.after) ? PRODUCT_MS : MOVE_MS
  const start = performance.now()
  let phase = MOVES_NOW
  const frame = (now) => {
    const past = now - start
    const next = past < lasts ? MOVES_NOW : past < lasts + SUM_MS ? ARRIVED : DONE
    if (next === MOVES_NOW) for (const move of labels) move(Math.max(0, past) / lasts)
    else if (next !== phase) show(next)
    phase = next
    if (phase !== DONE) box.walking = requestAnimationFrame(frame)
  }
  frame(start)
}

// Numbers that a drag changes are no longer those of the step.
function stopWalk(box) {
  if (!box.svg.querySelector(".walk")) return
  cancelAnimationFrame(box.walking)
  box.rest().remove()
  box.stepOf = null
}

const eased = (t) => t * t * (3 - 2 * t)

// Removes what the step before had painted; the new layer is above the graph.
function clearWalk(box) {
  box.svg.querySelector(".walk")?.remove()
  const layer = node("g", { class: "walk", "aria-hidden": "true" })
  ;(box.svg.querySelector(".graph") ?? box.svg).append(layer)
  return layer
}

// A number in a frame; returns what puts its middle at a point.
function framed(box, layer, words) {
  const size = Math.max(10, LEAST_PIXELS / (box.view?.k || 1))
  const [group, rect] = [node("g", { visibility: "hidden" }), node("rect", {})]
  const text = node("text", { "font-size": size }, words)
  group.append(rect, text)
  layer.append(group)
  const [width, height] = [text.getBBox().width + 0.8 * size, 1.4 * size]
  const place = { x: -width / 2, y: -height / 2, width, height, rx: 0.35 * size, "stroke-width": size / 12 }
  for (const [name, value] of Object.entries(place)) rect.setAttribute(name, value)
  const put = ({ x, y }) => {
    group.setAttribute("transform", `translate(${x} ${y})`)
    group.setAttribute("visibility", "visible")
  }
  return { group, width, height, put }
}

// Where a node shows its gradient, which is hidden as long as parts of it arrive. A node that shows
// none: below it, and below what stands there.
function placeOf(box, node, label, others = []) {
  const { x, y, width, height } = node.querySelector("path, polygon, ellipse").getBBox()
  const line = node.querySelector(".gradient")
  if (line) return { x: x + label.width / 2 + 4, y: middle(line).y }
  const place = { x: x + width / 2, y: y + height + label.height / 2 + 1 }
  const factors = [...box.svg.querySelectorAll(".edge text")].map((text) => {
    const { width, height } = text.getBBox()
    return { at: middle(text), width, height }
  })
  const taken = [...others, ...factors]
  const covers = (other) =>
    Math.abs(other.at.x - place.x) < (other.width + label.width) / 2 &&
    Math.abs(other.at.y - place.y) < (other.height + label.height) / 2
  for (let tries = 0; tries < 9 && taken.some(covers); tries++) place.y += label.height / 2
  return place
}

function middle(element) {
  const { x, y, width, height } = element.getBBox()
  return { x: x + width / 2, y: y + height / 2 }
}

// The factor of a chosen step, where none is seen on the edge.
function standOnEdge(box, layer, { edge, factor }) {
  const drawn = box.svg.getElementById(edge)
  const path = drawn?.querySelector("path")
  if (!path || !factor || (drawn.querySelector("text") && !box.svg.matches(".far"))) return
  const label = framed(box, layer, factor)
  label.group.classList.add("factor")
  const { x, y } = path.getPointAtLength(path.getTotalLength() / 2)
  label.put({ x: x + label.width / 2 + 5, y }) // beside it, where nodes have the fewest words
}

// From a node along the edge to the node that receives the gradient: to where that shows it, or
// below. The edge's path leads the other way. Returns what shows the move at a part of its time.
function onEdge(box, layer, { edge, before, product, after }) {
  const path = box.svg.getElementById(edge)?.querySelector("path")
  if (!path) return null // within a folded block
  const [to, from] = edge.split("-").map((id) => box.svg.getElementById(id))
  const multiplies = product !== after
  const labels = (multiplies ? [before, product, after] : [after]).map((words) => framed(box, layer, words))
  const length = path.getTotalLength()
  const end = path.getPointAtLength(length)
  const way = [
    { x: end.x, y: middle(from.querySelector("path, polygon, ellipse")).y },
    ...Array.from({ length: 9 }, (_, i) => path.getPointAtLength(length * (1 - i / 8))),
    placeOf(box, to, labels.at(-1)),
  ]
  const far = way.map((_, i) => (i ? Math.hypot(way[i].x - way[i - 1].x, way[i].y - way[i - 1].y) : 0))
  const all = far.reduce((a, b) => a + b)
  const along = (part) => {
    let rest = part * all
    let i = 1
    while (i < way.length - 1 && rest > far[i]) rest -= far[i++]
    const share = far[i] ? Math.min(1, rest / far[i]) : 1
    const [a, b] = [way[i - 1], way[i]]
    return { x: a.x + share * (b.x - a.x), y: a.y + share * (b.y - a.y) }
  }
  const show = (shown, part) => {
    for (const label of labels) if (label !== shown) label.group.setAttribute("visibility", "hidden")
    shown.put(along(part))
  }
  if (!multiplies) return (t) => show(labels[0], eased(t))
  const half = far.slice(0, 6).reduce((a, b) => a + b) / all // the middle of the edge
  return (t) => {
    if (t < TO_FACTOR) show(labels[0], half * eased(t / TO_FACTOR))
    else if (t < FROM_FACTOR) show(labels[1], half)
    else show(labels[2], half + (1 - half) * eased((t - FROM_FACTOR) / (1 - FROM_FACTOR)))
  }
}

// -- the component --------------------------------------------------------------------------------

const boxes = new WeakMap()
const SAME = 0.5 // the share of nodes that two graphs have in common if one follows the other

// The drawing with the factors on its edges, if they can then be read, or the one without.
function chosenDrawing(box, { svg, factored }) {
  const parse = (text) => {
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement
    const [, , width, height] = (svg.getAttribute("viewBox") || "0 0 100 100").split(/\s+/).map(Number)
    return { svg, bounds: { width, height } }
  }
  if (factored) {
    const drawing = parse(factored)
    if (FACTOR_SIZE * box.whole(drawing.bounds) >= LEGIBLE_FACTOR) return drawing
  }
  return parse(svg)
}

function replace(box, data) {
  const { svg: parsed, bounds } = chosenDrawing(box, data)
  const svg = document.importNode(parsed, true)
  svg.removeAttribute("width")
  svg.removeAttribute("height")
  svg.setAttribute("role", "group")
  svg.setAttribute("aria-label", data.still ? data.alt : `${data.alt}. Arrow keys go from node to node, Enter chooses.`)
  const held = box.canvas.getRootNode().activeElement?.closest?.(".canvas :is(g.node, g.frame)")
  const before = box.view && { svg: box.svg, view: { ...box.view }, places: whereNodesAre(box.svg) }
  box.canvas.replaceChildren(svg)
  addHeads(svg)
  Object.assign(box, { svg, digest: data.digest, layout: data.layout, bounds, factored: !!data.factored })
  box.sized = String(box.size())
  box.order = reading(svg, "g.node")
  box.stops = reading(svg, data.still ? "g.node" : "g.node, g.frame")
  for (const frame of svg.querySelectorAll("g.frame")) {
    frame.setAttribute("role", "button")
    frame.setAttribute("aria-label", `Close ${titleOf(frame).textContent}`)
  }
  box.numbers = new Map(box.order.map((node) => [node.id, findNumbers(node)]))
  for (const drawn of box.order) {
    drawn.setAttribute("role", data.still ? "img" : "button")
    for (const text of box.numbers.get(drawn.id).hook) chip(text, data.notes[drawn.id])
    if (drawn.id in box.draggable) {
      for (const text of box.numbers.get(drawn.id).value) {
        text.after(node("path", { class: "pull" }))
        underline(text)
      }
    }
    label(box, drawn)
  }
  const kept = views.get(data.layout)
  if (kept) {
    box.view = { ...kept }
    box.touched = true
    box.draw()
  } else if (!before || !follow(box, before)) {
    box.touched = false
    box.open()
  }
  if (held && box.stops.length) {
    const same = box.stops.find((one) => one.id === held.id) ?? box.stops[0]
    tabStop(box, same)
    same.focus({ preventScroll: true })
  }
}

// The nodes' first words, and where each is seen.
function whereNodesAre(svg) {
  const words = (node) => node.id + node.querySelector("text")?.textContent
  return new Map([...svg.querySelectorAll("g.node")].map((node) => [words(node), node.getBoundingClientRect()]))
}

// Keeps the view of the drawing before, if the new one is much the same: what is in the middle of
// the box stays there.
function follow(box, before) {
  box.view = before.view
  box.draw()
  const now = whereNodesAre(box.svg)
  const common = [...now.keys()].filter((words) => before.places.has(words))
  if (common.length < SAME * Math.max(now.size, before.places.size)) return false
  if (!box.touched) {
    const [w, h] = box.size()
    const { k } = box.view
    const fits = box.bounds.width * k <= w && box.bounds.height * k <= h
    if (!fits || common.length < now.size) return false
    box.place(k)
    return true
  }
  const c = box.canvas.getBoundingClientRect()
  const away = (words) => {
    const r = before.places.get(words)
    return Math.hypot((r.left + r.right - c.left - c.right) / 2, (r.top + r.bottom - c.top - c.bottom) / 2)
  }
  const middle = common.reduce((a, b) => (away(b) < away(a) ? b : a))
  const [from, to] = [before.places.get(middle), now.get(middle)]
  box.pan((from.left + from.right - to.left - to.right) / 2, (from.top + from.bottom - to.top - to.bottom) / 2)
  return true
}

// A badge behind the words of a hook, and its sentence where the pointer rests.
function chip(text, note) {
  const { x, y, width, height } = text.getBBox()
  text.before(node("rect", { x: x - 3, y, width: width + 6, height, rx: height / 2, class: "badge" }))
  text.parentNode.prepend(node("title", {}, note ?? ""))
}

// What a screen reader says: "y, AddBackward0 (1, 2), value [[3, 4]], gradient [[9, 12]]".
function label(box, node) {
  const pulled = box.draggable[node.id] ? "Alt with arrow up or down changes it" : ""
  const words = [spoken(node, box.hidden.has(node.id)), pulled].filter(Boolean).join(", ")
  node.setAttribute("aria-label", words)
}

function spoken(node, hidden) {
  const texts = [...node.querySelectorAll("text")]
  const y = (text) => Number(text.getAttribute("y"))
  const top = Math.min(...texts.map(y))
  const words = (chosen) => chosen.map((text) => text.textContent.trim()).filter(Boolean)
  const having = (name) => (text) => text.classList.contains(name)
  const [gradient, hook] = [having("gradient"), having("hook")]
  const below = words(texts.filter((text) => y(text) > top + 2 && !gradient(text) && !hook(text)))
  const grad = words(texts.filter(gradient)).join(" ").replace(/^grad /, "gradient ")
  const facts = node.classList.contains("heat") ? below : below.length ? ["value " + below.join(" ")] : []
  const passed = hidden ? [] : [grad, ...words(texts.filter(hook))]
  return [...words(texts.filter((text) => y(text) <= top + 2)), ...facts, ...passed].filter(Boolean).join(", ")
}

const titleOf = (one) => one.classList.contains("frame") && one.querySelector(":scope > text")

// The nodes, or also the frames by their titles, from top to bottom, and from left to right where
// they stand side by side.
function reading(svg, chosen) {
  const places = [...svg.querySelectorAll(chosen)].map((one) => [one, (titleOf(one) || one).getBBox()])
  places.sort(([, a], [, b]) => a.y + a.height / 2 - b.y - b.height / 2 || a.x - b.x)
  return places.map(([node]) => node)
}

const PULLS = { ArrowUp: 1, ArrowDown: -1 }
const SIGNS = { "+": 1, "-": -1 }
const MOVES = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity }

// Of all nodes and titles one is in the Tab order; the arrow keys go from one to the next.
function tabStop(box, node) {
  for (const other of box.stops) other.setAttribute("tabindex", other === node ? "0" : "-1")
}

// A line in its colour below the name of a leaf.
function colourNames(box, colours) {
  for (const drawn of box.order) {
    drawn.querySelector(".colour")?.remove()
    const name = drawn.querySelector("text")
    if (!(drawn.id in colours) || !name) continue
    const [x, y, width] = [Number(name.getAttribute("x")), Number(name.getAttribute("y")), name.textContent.length * CHARACTER]
    const line = node("path", { class: "colour", d: `M${x} ${y + 3}h${width}` })
    line.style.stroke = leafColour(colours[drawn.id])
    name.after(line)
  }
}

function mark(box, data) {
  colourNames(box, data.colours)
  box.svg.classList.toggle("walks", data.walking)
  const marks = { selected: [data.selected], current: [data.current], active: data.active ?? [] }
  for (const group of box.svg.querySelectorAll("g.node, g.edge")) {
    for (const [name, ids] of Object.entries(marks)) group.classList.toggle(name, ids.includes(group.id))
  }
  paintWalk(box, data)
  if (data.still) return
  const hidden = new Set(data.hidden)
  const heard = hidden.size === box.hidden.size && data.hidden.every((id) => box.hidden.has(id))
  box.hidden = hidden
  for (const node of box.order) {
    if (!heard) label(box, node)
    node.classList.toggle("draggable", node.id in box.draggable)
    node.setAttribute("aria-pressed", node.id === data.selected)
    if (node.id === data.current) node.setAttribute("aria-current", "step")
    else node.removeAttribute("aria-current")
  }
  const held = box.canvas.getRootNode().activeElement
  const chosen = box.order.find((node) => node.id === (data.current ?? data.selected))
  tabStop(box, box.stops.includes(held) ? held : (chosen ?? box.order[0]))
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  let box = boxes.get(parentElement)
  if (!box) {
    box = mount(parentElement)
    boxes.set(parentElement, box)
    box.silence = listen(box)
  }
  Object.assign(box, { still: data.still, small: data.small, places: data.places, draggable: data.draggable })
  parentElement.querySelector(".box").classList.toggle("still", data.still)
  parentElement.querySelector(".box").style.height = data.height
  if (box.digest !== data.digest || box.layout !== data.layout) replace(box, data)
  mark(box, data)
  box.again = () => {
    box.step = undefined
    replace(box, data)
    mark(box, data)
  }
  const wanted = data.current ?? data.selected
  const receivers = data.moving.map(({ edge }) => edge.split("-")[0])
  if (box.wanted !== wanted) box.reveal(wanted, receivers)
  box.wanted = wanted

  const choose = (event) => {
    if (box.still) return
    const pressed = "g.node, g.edge text, .frame > text, .frame:focus-visible" // by its title
    const one = event.target.closest?.(pressed)?.closest("g.node, g.edge, g.frame")
    if (one || data.selected) setTriggerValue("clicked", one?.id ?? "") // "": let go
  }
  box.canvas.onclick = (event) => box.moved || choose(event)
  box.canvas.onkeydown = (event) => {
    const here = box.stops.indexOf(event.target.closest?.("g.node, g.frame"))
    if (here < 0 || box.still) return
    const pull = box.draggable[event.target.id] && (event.altKey ? PULLS[event.key] : SIGNS[event.key])
    if (pull) {
      event.preventDefault()
      nudge(box, event.target.id, pull)
    } else if (event.key in MOVES) {
      event.preventDefault()
      const next = box.stops[Math.min(box.stops.length - 1, Math.max(0, here + MOVES[event.key]))]
      tabStop(box, next)
      next.focus({ preventScroll: true })
      box.reveal(next.id)
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault()
      choose(event)
    }
  }
  return () => {
    box.observer.disconnect()
    box.silence()
    hover(box, null)
    boxes.delete(parentElement)
  }
}
