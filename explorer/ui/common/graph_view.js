// Pans and zooms a drawing: dragging pans, Ctrl and the wheel or two fingers zoom, the wheel alone
// scrolls the page. It comes before graph.js, which puts the SVG into the box.

const STEP = 1.25
const MARGIN = 10
const TOOLS = 46 // what the buttons take of a box's top
const READABLE = 1.301 // the labels' 10 units are then 13 pixels
const WHOLE = 1.1 // a whole graph with words of 11 pixels is better than a part with larger ones
const LEGIBLE = 0.84 // where there is little room
const LEAST = 0.65 // on a phone: that the result is seen is worth more than words that need no zoom
const PHONE = 480 // the width of a box that is narrower than any on a desktop, in pixels
const LARGEST = 1.75
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
    // A finger scrolls the page over a drawing that has nothing above or below.
    canvas.style.touchAction = y <= 0 && y + h / k >= box.bounds.height ? "pan-y" : "none"
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
    if (height * k > h) box.view.y = -(w < PHONE ? TOOLS : MARGIN) / k
    box.draw()
  }

  // The first view: all of it if its words can then be read, else a readable part.
  box.open = () => {
    const whole = box.whole()
    const readable = box.small ? 1 : READABLE
    const least = box.small ? LEGIBLE : box.size()[0] < PHONE ? LEAST : WHOLE
    box.place(box.still || whole > least ? whole : readable)
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

  // Bring a node into view if a part of it is not; with it the others, if there is room for all.
  box.reveal = (id, others = []) => {
    const nodes = [id, ...others].map((name) => name && box.svg.getElementById(name)).filter(Boolean)
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

  box.observer = new ResizeObserver(() => (box.touched ? box.draw() : box.svg && box.open()))
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
