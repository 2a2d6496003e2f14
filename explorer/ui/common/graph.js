// Shows an SVG that the server laid out; a click selects. graph_view.js, graph_live.js and
// graph_walk.js come before it. The SVG is replaced only when its digest changes; selection and
// playback only toggle classes, so zoom and pan survive a rerun.

const boxes = new WeakMap()
const SAME = 0.5 // the share of nodes that two graphs have in common if one follows the other

function replace(box, data) {
  const parsed = new DOMParser().parseFromString(data.svg, "image/svg+xml")
  const svg = document.importNode(parsed.documentElement, true)
  const [, , width, height] = (svg.getAttribute("viewBox") || "0 0 100 100").split(/\s+/).map(Number)
  svg.removeAttribute("width")
  svg.removeAttribute("height")
  svg.setAttribute("role", "group")
  svg.setAttribute("aria-label", data.still ? data.alt : `${data.alt}. Arrow keys go from node to node, Enter chooses.`)
  const held = box.canvas.getRootNode().activeElement?.closest?.(".canvas g.node")
  const before = box.view && { svg: box.svg, view: { ...box.view }, places: whereNodesAre(box.svg) }
  box.canvas.replaceChildren(svg)
  Object.assign(box, { svg, digest: data.digest, layout: data.layout, bounds: { width, height } })
  box.order = reading(svg)
  box.numbers = new Map(box.order.map((node) => [node.id, findNumbers(node)]))
  for (const node of box.order) {
    node.setAttribute("role", data.still ? "img" : "button")
    for (const text of box.numbers.get(node.id).hook) chip(text, data.notes[node.id])
    if (node.id in box.draggable) {
      for (const text of box.numbers.get(node.id).value) {
        text.after(svgElement("path", { class: "pull" }))
        underline(text)
      }
    }
    label(box, node)
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
  if (held) (svg.getElementById(held.id) ?? box.order[0])?.focus()
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

function svgElement(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  return element
}

// A badge behind the words of a hook, and its sentence where the pointer rests.
function chip(text, note) {
  const { x, y, width, height } = text.getBBox()
  text.before(svgElement("rect", { x: x - 3, y, width: width + 6, height, rx: height / 2, class: "badge" }))
  const title = svgElement("title", {})
  title.textContent = note ?? ""
  text.parentNode.prepend(title)
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

// The nodes from top to bottom, and from left to right where they stand side by side.
function reading(svg) {
  const places = [...svg.querySelectorAll("g.node")].map((node) => [node, node.getBBox()])
  places.sort(([, a], [, b]) => a.y + a.height / 2 - b.y - b.height / 2 || a.x - b.x)
  return places.map(([node]) => node)
}

const PULLS = { ArrowUp: 1, ArrowDown: -1 }
const SIGNS = { "+": 1, "-": -1 }
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
  tabStop(box, box.order.includes(held) ? held : (chosen ?? box.order[0]))
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
  const wanted = data.current ?? data.selected
  const receivers = data.moving.map(([edge]) => edge.split("-")[0])
  if (box.wanted !== wanted) box.reveal(wanted, receivers)
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
    const pull = box.draggable[event.target.id] && (event.altKey ? PULLS[event.key] : SIGNS[event.key])
    if (pull) {
      event.preventDefault()
      nudge(box, event.target.id, pull)
    } else if (event.key in MOVES) {
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
    box.silence()
    hover(box, null)
    boxes.delete(parentElement)
  }
}
