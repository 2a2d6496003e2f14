// What is drawn over the picture of the loss: axes, paths, the path ahead, arrows, the point.

const FONT = 13, RIGHT = 14, BOTTOM = 44, ROW = 20
const DOTS = 60 // paths of at most so many points have a dot at each
const OUTSIDE = 9999 // px: a line that goes further is cut
const UNKNOWABLE = 1e7 // px: where a line between two places so far away passes, float32 cannot tell
const FEW_PIXELS = 40, MANY_PIXELS = 110 // lengths of the arrow of the gradient

const clamp = (value, low, high) => Math.max(low, Math.min(high, value))

// Positions of a path on both axes, as [x, y]; null where the run is not finite. Over a line y is
// the loss, NaN where it is not known.
function readPath(text, axes, isLine) {
  const numbers = decode(text, Float32Array)
  return Array.from({ length: numbers.length / 2 }, (_, i) => {
    const [x, y] = axes.map((axis, k) => numberAt(axis, numbers[2 * i + k]))
    return Number.isNaN(x) || (Number.isNaN(y) && !isLine) ? null : [x, y]
  })
}

const context = document.createElement("canvas").getContext("2d")

function shorten(text, width, family) {
  context.font = `${FONT}px ${family}`
  const fits = (t) => context.measureText(t).width <= width
  if (fits(text)) return text
  let length = text.length
  while (length > 1 && !fits(`${text.slice(0, length)}…`)) length -= 1
  return `${text.slice(0, length)}…`
}

// Entries with their places in rows of this width, after a title in the first row.
function arrange(entries, width, family, title) {
  context.font = `${FONT}px ${family}`
  let [left, row] = [context.measureText(title).width + 22, 0]
  return entries.map((entry) => {
    const text = shorten(entry.text, width - 40, family)
    const length = 30 + context.measureText(text).width
    if (left + length > width && left > 0) [left, row] = [0, row + 1]
    const placed = { ...entry, text, left, row }
    left += length + 16
    return placed
  })
}

function symbol(kind, colour, paint, x, y) {
  const line = { fill: "none", stroke: colour, "stroke-width": 2.5, "stroke-linecap": "round" }
  if (kind === "path") return [node("path", { ...line, d: `M${x} ${y}h20` }), node("circle", { cx: x + 10, cy: y, r: 3.5, fill: colour })]
  if (kind === "ahead") return [node("path", { ...line, d: `M${x} ${y}h20`, "stroke-dasharray": "0.1 5" })]
  if (kind === "slope") return [node("path", { ...line, d: `M${x} ${y}h20`, "stroke-width": 1.7, "stroke-dasharray": "6 3" })]
  return arrow([x, y], [x + 20, y], colour, paint)
}

function arrow([ax, ay], [bx, by], colour, paint) {
  const length = Math.hypot(bx - ax, by - ay)
  if (!(length > 1)) return []
  const [ux, uy] = [(bx - ax) / length, (by - ay) / length]
  const head = Math.min(11, length)
  const [cx, cy] = [bx - head * ux, by - head * uy]
  const points = [[bx, by], [cx - 5 * uy, cy + 5 * ux], [cx + 5 * uy, cy - 5 * ux]].map((p) => p.map((v) => v.toFixed(1)).join(",")).join(" ")
  const d = `M${ax.toFixed(1)} ${ay.toFixed(1)}L${cx.toFixed(1)} ${cy.toFixed(1)}`
  return [
    node("path", { d, stroke: paint.ground, "stroke-width": 6, "stroke-opacity": 0.6 }),
    node("path", { d, stroke: colour, "stroke-width": 3 }),
    node("polygon", { points, fill: colour, stroke: paint.ground, "stroke-width": 0.8, "stroke-opacity": 0.6 }),
  ]
}

// 1, 2 or 5 times a power of ten: with it an arrow of so many pixels can be seen whole.
function roundShare(length) {
  if (length >= FEW_PIXELS && length <= MANY_PIXELS) return 1
  const power = 10 ** Math.floor(Math.log10(MANY_PIXELS / length))
  return [5, 2, 1].find((m) => m * power * length <= MANY_PIXELS) * power
}

// The axes, from the numbers of a picture of this size; of them the part that is shown.
function layOut(shown, width, height, rows) {
  const top = 8 + ROW * rows
  const y = scale(shown.y, height - BOTTOM, top)
  const labels = y.ticks.map((tick) => format(tick, y.step))
  const left = Math.max(40, 16 + 7.6 * Math.max(...labels.map((label) => label.length)))
  const x = scale(shown.x, left, width - RIGHT)
  return { x, y, labels, box: { x: left, y: top, width: width - RIGHT - left, height: height - BOTTOM - top } }
}

function drawAxes(frame, data, paint, width, height, family, entries) {
  const { x, y, labels, box } = frame
  const parts = [node("rect", { ...box, fill: "none", stroke: paint.border })]
  const faint = { fill: paint.text, "fill-opacity": 0.75 }
  for (const tick of x.ticks) {
    const at = x.place(tick)
    parts.push(node("path", { d: `M${at} ${height - BOTTOM}v4`, stroke: paint.text, "stroke-opacity": 0.5 }))
    parts.push(node("text", { ...faint, x: clamp(at, 14, width - 18), y: height - BOTTOM + 18, "text-anchor": "middle" }, format(tick, x.step)))
  }
  y.ticks.forEach((tick, i) => {
    const at = y.place(tick)
    parts.push(node("path", { d: `M${box.x} ${at}h-4`, stroke: paint.text, "stroke-opacity": 0.5 }))
    parts.push(node("text", { ...faint, x: box.x - 7, y: at + 4.5, "text-anchor": "end" }, labels[i]))
  })
  const title = { fill: paint.text, "font-weight": 600 }
  parts.push(node("text", { ...title, x: box.x + box.width / 2, y: height - 6, "text-anchor": "middle" }, shorten(data.x.label, box.width, family)))
  parts.push(node("text", { ...title, x: 2, y: 15 }, shorten(data.y.label, width / 2, family)))
  for (const { kind, text, colour, left, row } of entries) {
    const at = left + 2
    parts.push(...symbol(kind, colour, paint, at, 11 + ROW * row))
    parts.push(node("text", { fill: paint.text, x: at + 27, y: 15.5 + ROW * row }, text))
  }
  return parts
}

// The path of [x, y], cut far outside; gaps where there is none.
function trace(points, { x, y }) {
  const write = ([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`
  let [d, before, end] = ["", null, ""]
  for (const point of points) {
    const at = point && [x.place(point[0]), y.place(point[1])]
    const part = at && before && cut(before, at)
    if (part) {
      const [from, to] = part.map(write)
      d += `${from === end ? "" : `M${from}`}L${to}`
      end = to
    }
    before = at
  }
  return d
}

// The part of a line between two places that is not far outside; null where all of it is.
function cut(a, b) {
  if (Math.hypot(...a) > UNKNOWABLE && Math.hypot(...b) > UNKNOWABLE) return null
  const way = b.map((v, k) => v - a[k])
  const ends = way.map((by, k) => [(-OUTSIDE - a[k]) / by, (OUTSIDE - a[k]) / by])
  const from = Math.max(0, ...ends.map((pair) => Math.min(...pair)))
  const to = Math.min(1, ...ends.map((pair) => Math.max(...pair)))
  return from <= to ? [from, to].map((share) => a.map((v, k) => v + share * way[k])) : null
}

function drawPath(points, frame, colour, paint, { opacity = 1, dots = points.length <= DOTS } = {}) {
  const d = trace(points, frame)
  const line = { d, fill: "none", "stroke-linejoin": "round", "stroke-linecap": "round" }
  const parts = [
    node("path", { ...line, stroke: paint.ground, "stroke-width": 4.5, "stroke-opacity": 0.6 * opacity }),
    node("path", { ...line, stroke: colour, "stroke-width": 2.2, "stroke-opacity": opacity }),
  ]
  if (dots)
    for (const [cx, cy] of points.filter(Boolean).map(([a, b]) => [frame.x.place(a), frame.y.place(b)]).filter((at) => cut(at, at)))
      parts.push(node("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: 3.2, fill: colour, "fill-opacity": opacity, stroke: paint.ground, "stroke-width": 0.9 }))
  return parts
}

// The reader's own path stands out among several.
function drawAhead(points, frame, colour, paint, opacity) {
  const line = { d: trace(points, frame), fill: "none", "stroke-linejoin": "round", "stroke-linecap": "round" }
  return [
    node("path", { ...line, stroke: paint.ground, "stroke-width": 4, "stroke-opacity": 0.45 * opacity }),
    node("path", { ...line, stroke: colour, "stroke-width": 2.6, "stroke-dasharray": "0.1 5", "stroke-opacity": opacity, class: "ahead" }),
  ]
}

// How much of a way from a place stays within the box.
function shareInside([x, y], [dx, dy], box) {
  const along = (at, by, low, high) => (by > 0 ? (high - at) / by : by < 0 ? (low - at) / by : Infinity)
  return Math.max(0, Math.min(along(x, dx, box.x + 4, box.x + box.width - 4), along(y, dy, box.y + 4, box.y + box.height - 4)))
}

// The arrows at a place, and the words that the legend says about them.
function drawArrows(arrows, at, frame, paint) {
  const place = ([a, b]) => [frame.x.place(a), frame.y.place(b)]
  const from = place(at)
  const pixels = (way) => {
    const to = place([at[0] + way[0], at[1] + way[1]])
    return [to[0] - from[0], to[1] - from[1]]
  }
  const parts = [], words = {}
  const flat = frame.y.flat
  const draw = (way, share, colour) => parts.push(...arrow(from, [from[0] + share * way[0], from[1] + share * way[1]], colour, paint))
  if (arrows.gradient && !flat) {
    const way = pixels(arrows.gradient.map((v) => -v))
    const length = Math.hypot(...way)
    if (length > 1e-6 && Number.isFinite(length)) {
      const share = roundShare(length)
      draw(way, Math.min(share, shareInside(from, way, frame.box)), paint.gradient)
      words.gradient = share === 1 ? "" : ` × ${format(share, share)}`
    }
  }
  if (arrows.update) {
    const way = pixels(flat ? [arrows.update[0], 0] : arrows.update)
    const share = Math.min(1, shareInside(from, way, frame.box))
    if (way.every(Number.isFinite)) draw(way, share, paint.update)
    words.update = share < 1 ? " (shortened)" : ""
  }
  return { parts, words }
}
