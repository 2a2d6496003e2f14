// What the graph does without the server: it tells and shows what the pointer is over, paints the
// numbers of a drag, and lets the number of a leaf be pulled. It comes before graph.js.
//
// Events of the window: `ax-hover` {from, nodes, tensor, line} or null; `ax-numbers`
// {nodes: {id: {value: [lines], grad: [lines], hook: [line]}}}, as `node_numbers` in pass_graph.py
// makes them; `ax-drag` {target, value, phase}.

const CHANGED_MS = 600
const PIXELS_A_STEP = 4
const GRAD = "grad "
const NUMBER = /-?(?:\d[\d.]*(?:e[-+]?\d+)?|inf|nan)/g
const CHARACTER = 6.02 // the width of one, in units of the drawing

const say = (name, detail) => window.dispatchEvent(new CustomEvent(name, { detail }))

// -- hovering -------------------------------------------------------------------------------------

function hover(box, node) {
  if (box.over === node?.id) return
  box.over = node?.id
  const [tensor, line] = box.places[box.over] ?? []
  if (!node) say("ax-hover", null)
  else if (tensor !== undefined) say("ax-hover", { from: "graph", nodes: [node.id], tensor, line })
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

function paintNumbers(box, nodes) {
  stopWalk(box)
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
    for (const node of new Set([...box.changed].map((text) => text.closest("g.node")))) label(box, node)
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
    say("ax-drag", { target, value, phase })
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
  say("ax-drag", { ...detail, phase: "move" })
  clearTimeout(box.nudging)
  box.nudging = setTimeout(() => say("ax-drag", { ...detail, phase: "end" }), CHANGED_MS)
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
    paintNumbers(box, { [id]: { value: lines } })
  }
}

function listen(box) {
  const over = (event) => hover(box, event.target.closest("g.node"))
  const away = () => hover(box, null)
  const own = { pointerover: over, focusin: over, pointerleave: away, focusout: away }
  for (const [name, listener] of Object.entries(own)) box.canvas.addEventListener(name, listener)
  const heard = {
    "ax-hover": (event) => showHover(box, event.detail),
    "ax-numbers": (event) => paintNumbers(box, event.detail?.nodes),
    "ax-drag": (event) => showDrag(box, event.detail),
  }
  for (const [name, listener] of Object.entries(heard)) window.addEventListener(name, listener)
  return () => {
    for (const [name, listener] of Object.entries(heard)) window.removeEventListener(name, listener)
  }
}
