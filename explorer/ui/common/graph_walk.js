// Paints a step of the backward pass on the graph; it comes before graph.js, which calls it after
// every change of the marks. `data.hidden`, `arriving`, `moving` and `sums` are those of `Marks`
// in graph.py. The numbers move, stand at the nodes as sums, and become their totals.

const MOVE_MS = 600
const SUM_MS = 300
const [MOVES_NOW, ARRIVED, DONE] = [0, 1, 2]
const LEAST_PIXELS = 12 // the height of the numbers, however small the graph is drawn
const CALM = window.matchMedia("(prefers-reduced-motion: reduce)")

function paintWalk(box, data) {
  const { hidden = [], arriving = [], moving = [], sums = [] } = data
  const step = JSON.stringify([data.current, hidden, arriving, moving, sums])
  if (box.step === step && box.stepOf === box.digest) return
  const still = box.step === undefined || box.step === step || !moving.length || CALM.matches
  Object.assign(box, { step, stepOf: box.digest })
  cancelAnimationFrame(box.walking)

  const show = (phase) => {
    const waits = new Set(hidden)
    const added = new Set(sums.filter((sum) => sum.added).map((sum) => sum.node))
    for (const id of arriving) if (phase === MOVES_NOW || (phase === ARRIVED && added.has(id))) waits.add(id)
    for (const node of box.order) node.classList.toggle("later", waits.has(node.id))
    const leaves = box.order.filter((node) => node.matches(".leaf.later"))
    const names = leaves.map((node) => node.querySelector("text")?.textContent.trim())
    window.dispatchEvent(new CustomEvent("ax-later", { detail: names })) // the handles hide theirs
    const layer = clearWalk(box)
    const labels = []
    for (const sum of sums) {
      const node = box.svg.getElementById(sum.node)
      const words = [sum.before, sum.parts, sum.total][phase]
      if (!node || !words || (!sum.added && node.querySelector(".gradient"))) continue
      const label = framed(box, layer, words)
      label.put((label.at = below(node, label, labels)))
      labels.push(label)
    }
    return layer
  }
  box.rest = () => show(DONE)
  if (still) return void box.rest()

  const layer = show(MOVES_NOW)
  const labels = moving.map(([edge, words]) => onEdge(box, layer, edge, words)).filter(Boolean)
  const start = performance.now()
  let phase = MOVES_NOW
  const frame = (now) => {
    const past = now - start
    const next = past < MOVE_MS ? MOVES_NOW : past < MOVE_MS + SUM_MS ? ARRIVED : DONE
    if (next === MOVES_NOW) for (const move of labels) move(eased(Math.max(0, past) / MOVE_MS))
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
  const layer = document.createElementNS("http://www.w3.org/2000/svg", "g")
  layer.setAttribute("class", "walk")
  layer.setAttribute("aria-hidden", "true")
  ;(box.svg.querySelector(".graph") ?? box.svg).append(layer)
  return layer
}

// A number in a frame; returns what puts its middle at a point.
function framed(box, layer, words) {
  const make = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag)
  const [group, rect, text] = ["g", "rect", "text"].map(make)
  text.textContent = words
  const size = Math.max(10, LEAST_PIXELS / (box.view?.k || 1))
  text.setAttribute("font-size", size)
  group.append(rect, text)
  layer.append(group)
  const [width, height] = [text.getBBox().width + 0.8 * size, 1.4 * size]
  const place = { x: -width / 2, y: -height / 2, width, height, rx: 0.35 * size, "stroke-width": size / 12 }
  for (const [name, value] of Object.entries(place)) rect.setAttribute(name, value)
  return { width, height, put: ({ x, y }) => group.setAttribute("transform", `translate(${x} ${y})`) }
}

// Below the node, where the gradients come in, and below what stands there.
function below(node, label, others = []) {
  const { x, y, width, height } = node.querySelector("path, polygon, ellipse").getBBox()
  const place = { x: x + width / 2, y: y + height + label.height / 2 + 1 }
  const covers = (other) =>
    Math.abs(other.at.x - place.x) < (other.width + label.width) / 2 &&
    Math.abs(other.at.y - place.y) < (other.height + label.height) / 2
  while (others.some(covers)) place.y += label.height / 2
  return place
}

function middle(element) {
  const { x, y, width, height } = element.getBBox()
  return { x: x + width / 2, y: y + height / 2 }
}

// From a node along the edge to the node that receives the gradient: to where that shows it, or
// below. The edge's path leads the other way.
function onEdge(box, layer, edge, words) {
  const path = box.svg.getElementById(edge)?.querySelector("path")
  if (!path) return null // within a folded block
  const [to, from] = edge.split("-").map((id) => box.svg.getElementById(id))
  const label = framed(box, layer, words)
  const length = path.getTotalLength()
  const line = to.querySelector(".gradient")
  const end = path.getPointAtLength(length)
  const way = [
    { x: end.x, y: middle(from.querySelector("path, polygon, ellipse")).y },
    ...Array.from({ length: 9 }, (_, i) => path.getPointAtLength(length * (1 - i / 8))),
    line ? middle(line) : below(to, label),
  ]
  const far = way.map((_, i) => (i ? Math.hypot(way[i].x - way[i - 1].x, way[i].y - way[i - 1].y) : 0))
  const all = far.reduce((a, b) => a + b)
  return (t) => {
    let rest = t * all
    let i = 1
    while (i < way.length - 1 && rest > far[i]) rest -= far[i++]
    const part = far[i] ? Math.min(1, rest / far[i]) : 1
    const [a, b] = [way[i - 1], way[i]]
    label.put({ x: a.x + part * (b.x - a.x), y: a.y + part * (b.y - a.y) })
  }
}
