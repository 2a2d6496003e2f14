// Shows an SVG that the server laid out: wheel and buttons zoom, dragging pans, a click selects.
// The SVG is replaced only when its digest changes; selection and playback only toggle classes,
// so zoom and pan survive a rerun. Views outlive an unmount in `views`, keyed by the layout.

const views = new Map()
const boxes = new WeakMap()
const STEP = 1.25
const MARGIN = 14
const READABLE = 1.0 // the labels' 10 units are then 10 pixels
const LEGIBLE = 0.84 // small enough, if all of the graph is then seen
const LARGEST = 1.4

function mount(parent) {
  const canvas = parent.querySelector(".canvas")
  const box = { canvas, svg: null, digest: null, view: null, touched: false, drag: null }

  box.size = () => [canvas.clientWidth || 600, canvas.clientHeight || 400]

  box.draw = () => {
    if (!box.svg || !box.view) return
    const [w, h] = box.size()
    const { x, y, k } = box.view
    box.svg.setAttribute("viewBox", `${x} ${y} ${w / k} ${h / k}`)
    if (box.touched) views.set(box.layout, { ...box.view })
  }

  box.whole = () => {
    const [w, h] = box.size()
    const { width, height } = box.bounds
    return Math.min((w - 2 * MARGIN) / width, (h - 2 * MARGIN) / height, LARGEST)
  }

  // Centred where it fits at scale k; otherwise from the top.
  box.place = (k) => {
    const [w, h] = box.size()
    const { width, height } = box.bounds
    box.view = { k, x: (width - w / k) / 2, y: Math.min((height - h / k) / 2, 0) }
    if (height * k > h) box.view.y = -MARGIN / k
    box.draw()
  }

  // The first view: all of it if its words can then be read, else a readable part.
  box.open = () => {
    const whole = box.whole()
    box.place(box.still || whole > LEGIBLE ? whole : READABLE)
    box.centre()
  }

  // A graph wider than the box: centre the nodes at the height that is seen.
  box.centre = () => {
    const c = canvas.getBoundingClientRect()
    if (box.bounds.width * box.view.k <= c.width) return
    const seen = [...box.svg.querySelectorAll("g.node")]
      .map((node) => node.getBoundingClientRect())
      .filter((r) => r.top < c.bottom && r.bottom > c.top)
    if (!seen.length) return // a box that is not shown has no height
    const left = Math.min(...seen.map((r) => r.left)) - MARGIN
    const right = Math.max(...seen.map((r) => r.right)) + MARGIN
    const shift = right - left <= c.width ? (left + right - c.left - c.right) / 2 : left - c.left
    box.view.x += shift / box.view.k
    box.draw()
  }

  // Bring a node into view if a part of it is not.
  box.reveal = (id) => {
    const node = id && box.svg.getElementById(id)
    if (!node || box.still) return
    const r = node.getBoundingClientRect()
    const c = canvas.getBoundingClientRect()
    const x = (r.left + r.right) / 2 - c.left
    const y = (r.top + r.bottom) / 2 - c.top
    if (r.left >= c.left && r.right <= c.right && r.top >= c.top && r.bottom <= c.bottom) return
    box.view.x += (x - c.width / 2) / box.view.k
    box.view.y += (y - c.height / 2) / box.view.k
    box.touched = true
    box.draw()
  }

  // Zoom by `factor` with the point (px, py) of the canvas staying where it is.
  box.zoom = (factor, px, py) => {
    const v = box.view
    if (!v) return
    const k = Math.min(8, Math.max(0.02, v.k * factor))
    v.x += px / v.k - px / k
    v.y += py / v.k - py / k
    v.k = k
    box.touched = true
    box.draw()
  }

  canvas.onwheel = (event) => {
    if (box.still) return // a picture lets the page scroll
    event.preventDefault()
    const r = canvas.getBoundingClientRect()
    box.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - r.left, event.clientY - r.top)
  }
  canvas.onpointerdown = (event) => {
    if (!box.still) box.drag = { x: event.clientX, y: event.clientY, moved: false }
  }
  canvas.onpointermove = (event) => {
    const d = box.drag
    if (!d || !box.view) return
    const dx = event.clientX - d.x
    const dy = event.clientY - d.y
    if (!d.moved && Math.hypot(dx, dy) < 4) return
    if (!d.moved) canvas.setPointerCapture(event.pointerId) // earlier, and clicks would die
    Object.assign(d, { x: event.clientX, y: event.clientY, moved: true })
    box.view.x -= dx / box.view.k
    box.view.y -= dy / box.view.k
    box.touched = true
    box.draw()
  }
  canvas.onpointerup = () => {
    box.moved = box.drag?.moved ?? false
    box.drag = null
  }
  canvas.onpointercancel = () => {
    box.drag = null
  }

  const middle = () => box.size().map((length) => length / 2)
  parent.querySelector(".in").onclick = () => box.zoom(STEP, ...middle())
  parent.querySelector(".out").onclick = () => box.zoom(1 / STEP, ...middle())
  parent.querySelector(".all").onclick = () => {
    box.touched = true
    box.place(box.whole())
  }

  box.observer = new ResizeObserver(() => (box.touched ? box.draw() : box.svg && box.open()))
  box.observer.observe(canvas)
  return box
}

function replace(box, data) {
  const parsed = new DOMParser().parseFromString(data.svg, "image/svg+xml")
  const svg = document.importNode(parsed.documentElement, true)
  const [, , width, height] = (svg.getAttribute("viewBox") || "0 0 100 100").split(/\s+/).map(Number)
  box.bounds = { width, height }
  svg.removeAttribute("width")
  svg.removeAttribute("height")
  svg.setAttribute("role", "group")
  svg.setAttribute("aria-label", data.still ? data.alt : `${data.alt}. Arrow keys go from node to node, Enter chooses.`)
  const held = box.canvas.getRootNode().activeElement?.closest?.(".canvas g.node")
  for (const node of svg.querySelectorAll("g.node")) {
    node.setAttribute("role", data.still ? "img" : "button")
    node.setAttribute("aria-label", spoken(node))
  }
  box.canvas.replaceChildren(svg)
  box.order = reading(svg)
  box.svg = svg
  box.digest = data.digest
  box.layout = data.layout
  const kept = views.get(data.layout)
  box.touched = Boolean(kept)
  if (kept) {
    box.view = { ...kept }
    box.draw()
  } else {
    box.open()
  }
  if (held) (svg.getElementById(held.id) ?? box.order[0])?.focus()
}

// What a screen reader says: "y, AddBackward0 (1, 2), value [[3, 4]], gradient [[9, 12]]".
function spoken(node) {
  const texts = [...node.querySelectorAll("text")]
  const y = (text) => Number(text.getAttribute("y"))
  const top = Math.min(...texts.map(y))
  const words = (chosen) => chosen.map((text) => text.textContent.trim()).filter(Boolean)
  const gradient = (text) => text.classList.contains("gradient")
  const below = words(texts.filter((text) => y(text) > top + 2 && !gradient(text)))
  const grad = words(texts.filter(gradient)).join(" ").replace(/^grad /, "gradient ")
  const facts = node.classList.contains("heat") ? below : below.length ? ["value " + below.join(" ")] : []
  return [...words(texts.filter((text) => y(text) <= top + 2)), ...facts, grad].filter(Boolean).join(", ")
}

// The nodes from top to bottom, and from left to right where they stand side by side.
function reading(svg) {
  const places = [...svg.querySelectorAll("g.node")].map((node) => [node, node.getBBox()])
  places.sort(([, a], [, b]) => a.y + a.height / 2 - b.y - b.height / 2 || a.x - b.x)
  return places.map(([node]) => node)
}

const MOVES = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity }

// Of all nodes one is in the Tab order; the arrow keys go from node to node.
function tabStop(box, node) {
  for (const other of box.order) other.setAttribute("tabindex", other === node ? "0" : "-1")
}

function mark(box, data) {
  const marks = { selected: [data.selected], current: [data.current], active: data.active ?? [] }
  for (const group of box.svg.querySelectorAll("g.node, g.edge")) {
    for (const [name, ids] of Object.entries(marks)) group.classList.toggle(name, ids.includes(group.id))
  }
  paintWalk(box, data)
  if (data.still) return
  for (const node of box.order) {
    node.setAttribute("aria-pressed", node.id === data.selected)
    if (node.id === data.current) node.setAttribute("aria-current", "step")
    else node.removeAttribute("aria-current")
  }
  const held = box.canvas.getRootNode().activeElement
  const chosen = box.order.find((node) => node.id === (data.current ?? data.selected))
  tabStop(box, box.order.includes(held) ? held : (chosen ?? box.order[0]))
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  let box = boxes.get(parentElement)
  if (!box) {
    box = mount(parentElement)
    boxes.set(parentElement, box)
  }
  box.still = data.still
  parentElement.querySelector(".box").classList.toggle("still", data.still)
  parentElement.querySelector(".box").style.height = `${data.height}px`
  if (box.digest !== data.digest || box.layout !== data.layout) replace(box, data)
  mark(box, data)
  const wanted = data.current ?? data.selected
  if (box.wanted !== wanted) box.reveal(wanted)
  box.wanted = wanted

  const choose = (event) => {
    if (box.still) return
    const node = event.target.closest?.("g.node")
    if (node || data.selected) setTriggerValue("clicked", node?.id ?? "") // "": let go
  }
  box.canvas.onclick = (event) => box.moved || choose(event)
  box.canvas.onkeydown = (event) => {
    const here = box.order.indexOf(event.target.closest?.("g.node"))
    if (here < 0 || box.still) return
    if (event.key in MOVES) {
      event.preventDefault()
      const next = box.order[Math.min(box.order.length - 1, Math.max(0, here + MOVES[event.key]))]
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
    boxes.delete(parentElement)
  }
}
