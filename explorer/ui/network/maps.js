// Heat maps as SVG: the cells are one small picture each, names and marks are drawn around it.

const TITLE = 17, LETTER = 6.4
const kept = new Map() // the frame of each component, which outlives a rerun
const states = new WeakMap()

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0))

// A colour between the stops of the palette; `at` is from 0 to 1.
function blend(stops, at) {
  const place = Math.max(0, Math.min(1, at)) * (stops.length - 1)
  const i = Math.min(stops.length - 2, Math.floor(place))
  return stops[i].map((v, c) => Math.round(v + (stops[i + 1][c] - v) * (place - i)))
}

const HALF = SIGNED.slice((SIGNED.length - 1) / 2)

function colourOf(map, value) {
  if (!Number.isFinite(value)) return UNKNOWN
  if (map.grey) return Array(3).fill(Math.round(255 * Math.max(0, Math.min(1, value))))
  return map.signed ? blend(SIGNED, (value / map.most + 1) / 2) : blend(HALF, value / map.most)
}

function picture(map, values, masked) {
  const [rows, columns] = map.shape
  const canvas = document.createElement("canvas")
  canvas.width = columns
  canvas.height = rows
  const context = canvas.getContext("2d")
  const image = context.createImageData(columns, rows)
  values.forEach((value, i) => image.data.set([...(masked?.[i] ? UNKNOWN : colourOf(map, value)), 255], 4 * i))
  context.putImageData(image, 0, 0)
  return canvas.toDataURL()
}

const read = (value) => (Number.isFinite(value) ? format(value, Math.abs(value) / 1e3) : String(value))

function shorten(name, most) {
  return name.length > most ? name.slice(0, most - 1) + "…" : name
}

// Draws one map into its figure; returns what marks a cell in it.
function drawMap(figure, map, frame, width, paint) {
  const [rows, columns] = map.shape
  const values = new Float32Array(bytes(map.values[Math.min(frame, map.values.length - 1)]).buffer)
  const masked = map.masked && bytes(map.masked)
  const named = map.rows.map((name) => shorten(name, 12))
  const left = named.length ? 6 + LETTER * Math.max(...named.map((name) => name.length)) : 2
  const side = Math.max(40, width - left - 2)
  const cell = Math.min(side / columns, map.grey ? 99 : 30)
  const [w, h] = [cell * columns, Math.max(cell * rows, rows === 1 ? 12 : 0)]
  const tall = h / rows
  const under = map.columns.map((name) => shorten(name, 12))
  const upright = Math.max(0, ...under.map((name) => name.length)) * LETTER > cell
  const bottom = under.length ? (upright ? 6 + LETTER * Math.max(...under.map((name) => name.length)) : 15) : 3
  const whole = left + w + 2
  const svg = figure.querySelector("svg")
  const high = TITLE + h + bottom
  svg.setAttribute("viewBox", `0 0 ${whole} ${high}`)
  svg.setAttribute("width", whole)
  svg.setAttribute("height", high)
  svg.setAttribute("role", "img")
  svg.setAttribute("aria-label", map.alt)
  const faint = { fill: paint.text, "fill-opacity": 0.8 }
  const title = node("text", { x: left, y: 12, fill: paint.text })
  const reading = node("tspan", { dx: 6, class: "reading" })
  title.append(node("tspan", { "font-weight": 600 }, map.title), reading)
  const image = node("image", { href: picture(map, values, masked), x: left, y: TITLE, width: w, height: h, preserveAspectRatio: "none", style: "image-rendering: pixelated" })
  const parts = [title, image]
  if (masked && rows * columns <= 4096) {
    let d = ""
    masked.forEach((is, i) => {
      if (is) d += `M${left + (i % columns) * cell} ${TITLE + (Math.floor(i / columns) + 1) * tall}l${cell} ${-tall}`
    })
    parts.push(node("path", { d, stroke: HATCH, "stroke-width": 0.8 }))
  }
  parts.push(node("rect", { x: left, y: TITLE, width: w, height: h, fill: "none", stroke: paint.border }))
  const everyRow = Math.ceil(11 / tall), everyColumn = Math.ceil(11 / cell)
  named.forEach((name, i) => {
    if (i % everyRow === 0) parts.push(node("text", { ...faint, x: left - 4, y: TITLE + (i + 0.5) * tall + 4, "text-anchor": "end" }, name))
  })
  under.forEach((name, i) => {
    if (i % everyColumn) return
    const [x, y] = [left + (i + 0.5) * cell, TITLE + h]
    const place = upright ? { transform: `translate(${x + 4} ${y + 5}) rotate(-90)`, "text-anchor": "end" } : { x, y: y + 12, "text-anchor": "middle" }
    parts.push(node("text", { ...faint, ...place }, name))
  })
  const mark = node("rect", { fill: "none", stroke: MARK, "stroke-width": 3, visibility: "hidden" })
  const inner = node("rect", { fill: "none", stroke: "white", "stroke-width": 1.2, visibility: "hidden" })
  svg.replaceChildren(...parts, mark, inner)
  const show = (place) => {
    const inside = place && place[0] < rows && place[1] < columns
    for (const rect of [mark, inner]) {
      rect.setAttribute("visibility", inside ? "visible" : "hidden")
      if (inside) for (const [key, value] of Object.entries({ x: left + place[1] * cell, y: TITLE + place[0] * tall, width: cell, height: tall })) rect.setAttribute(key, value)
    }
    const i = inside ? place[0] * columns + place[1] : 0
    reading.textContent = inside ? (masked?.[i] ? "masked" : read(values[i])) : ""
  }
  const at = (event) => {
    const box = svg.getBoundingClientRect()
    const by = whole / box.width
    const place = [Math.floor(((event.clientY - box.top) * by - TITLE) / tall), Math.floor(((event.clientX - box.left) * by - left) / cell)]
    return place[0] >= 0 && place[1] >= 0 && place[0] < rows && place[1] < columns ? place : null
  }
  return { show, at }
}

function nameOf(names, i) {
  return names[i] === undefined ? String(i + 1) : names[i]
}

// One bar of colours for all maps, if they share it.
function drawScale(element, maps) {
  const [first] = maps
  const shared = first && !first.grey && maps.every((map) => map.most === first.most && map.signed === first.signed)
  element.hidden = !shared
  if (!shared) return
  const stops = first.signed ? SIGNED : HALF
  const bar = document.createElement("i")
  bar.style.background = `linear-gradient(90deg, ${stops.map((stop) => `rgb(${stop})`).join(",")})`
  const parts = [first.signed ? read(-first.most) : "0", bar, read(first.most)]
  if (maps.some((map) => map.masked)) {
    const swatch = document.createElement("i")
    swatch.className = "masked"
    swatch.style.background = `repeating-linear-gradient(135deg, rgb(${UNKNOWN}) 0 2px, ${HATCH} 2px 3px)`
    parts.push(swatch, "masked")
  }
  element.replaceChildren(...parts)
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".maps")
  const [label, scaleBar] = [parentElement.querySelector(".moment"), parentElement.querySelector(".scale")]
  const [caption, slider] = [parentElement.querySelector(".caption"), label.querySelector("input")]
  let state = states.get(root)
  if (!state) {
    state = {}
    state.observer = new ResizeObserver(() => root.clientWidth !== state.width && state.draw())
    states.set(root, state)
    state.observer.observe(root)
  }
  const last = (data.frames?.names.length ?? 1) - 1
  const frame = () => Math.min(kept.get(data.key) ?? data.frames?.start ?? 0, last)
  const rest = () => (data.frames?.captions.length ? data.frames.captions[frame()] : data.caption)
  state.draw = () => {
    state.width = root.clientWidth
    const paint = colours(root)
    const width = Math.min(data.width, root.clientWidth)
    const groups = new Map()
    const drawn = []
    for (const map of data.maps) {
      if (!groups.has(map.group)) {
        const group = document.createElement("div")
        group.className = "group"
        if (map.group) group.append(Object.assign(document.createElement("div"), { className: "of", textContent: map.group }))
        group.append(Object.assign(document.createElement("div"), { className: "row" }))
        groups.set(map.group, group)
      }
      const figure = document.createElement("figure")
      const button = Object.assign(document.createElement("button"), { className: "save", type: "button", textContent: "↓", title: "Download as SVG" })
      button.setAttribute("aria-label", `Download ${map.title} as SVG`)
      const svg = node("svg", { xmlns: SPACE })
      button.onclick = () => save(svg, paint, `${map.title}.svg`)
      figure.append(svg, button)
      groups.get(map.group).lastChild.append(figure)
      const { show, at } = drawMap(figure, map, frame(), width, paint)
      drawn.push({ map, show })
      svg.onpointermove = svg.onpointerdown = (event) => {
        const place = at(event)
        for (const other of drawn) other.show(String(other.map.shape) === String(map.shape) ? place : null)
        caption.textContent = place
          ? `${map.axes[0]} ${nameOf(map.rows, place[0])}${map.axes[1]} ${nameOf(map.columns, place[1])}`
          : rest()
      }
      svg.onpointerleave = () => {
        for (const other of drawn) other.show(null)
        caption.textContent = rest()
      }
    }
    root.replaceChildren(...groups.values())
  }
  label.hidden = !data.frames
  if (data.frames) {
    label.querySelector(".about").textContent = data.frames.label
    slider.max = last
    slider.value = frame()
    slider.title = data.frames.label
    const tell = () => {
      label.querySelector("output").textContent = data.frames.names[frame()]
      slider.setAttribute("aria-valuetext", data.frames.names[frame()])
      caption.textContent = rest()
    }
    slider.oninput = () => {
      kept.set(data.key, Number(slider.value))
      tell()
      state.draw()
    }
    tell()
  }
  caption.textContent = rest()
  drawScale(scaleBar, data.maps)
  const received = JSON.stringify([data, colours(root)])
  if (received !== state.received || !root.childElementCount) state.draw()
  state.received = received
  return () => {
    state.observer.disconnect()
    states.delete(root)
  }
}
