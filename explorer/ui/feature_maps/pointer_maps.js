// Draws maps in the colours of the tiles, and frames over them.

const LEVELS = 510 // as many below zero as above

// The colours from the lowest value to the highest; zero is white.
function ramp(anchors) {
  return Array.from({ length: LEVELS + 1 }, (_, level) => {
    const at = (level / LEVELS) * (anchors.length - 1)
    const from = Math.min(Math.floor(at), anchors.length - 2)
    return anchors[from].map((part, i) => Math.round(part + (at - from) * (anchors[from + 1][i] - part)))
  })
}

// A map on a canvas with a pixel for each position of `extent`, which may reach beyond it: what is
// outside is left clear, or faint where the padding has values from within. `limit` is the value
// of the last colour.
function paintMap(canvas, { width, height, values }, extent, limit, signed, colours) {
  const palette = ramp(signed ? colours.anchors : colours.anchors.slice(2))
  const [zero, slope] = signed ? [LEVELS / 2, LEVELS / 2] : [0, LEVELS]
  canvas.width = extent.right - extent.left
  canvas.height = extent.bottom - extent.top
  const context = canvas.getContext("2d")
  const image = context.createImageData(canvas.width, canvas.height)
  let byte = 0
  for (let r = extent.top; r < extent.bottom; r++) {
    const from = extent.row(r)
    for (let c = extent.left; c < extent.right; c++, byte += 4) {
      const at = extent.column(c)
      if (from < 0 || at < 0) continue
      const value = values[from * width + at]
      const share = limit > 0 ? Math.min(1, Math.max(-1, value / limit)) : 0
      const rgb = Number.isFinite(value) ? palette[Math.max(0, Math.round(zero + slope * share))] : colours.nan
      image.data[byte] = rgb[0]
      image.data[byte + 1] = rgb[1]
      image.data[byte + 2] = rgb[2]
      image.data[byte + 3] = r === from && c === at && r < height ? 255 : 110
    }
  }
  context.putImageData(image, 0, 0)
}

// The positions that a layer reads along both axes, the padding included.
function extentOf(rows, columns, height, width) {
  const range = (reads, length) => {
    let [low, high] = [0, length - 1]
    for (const positions of reads.positions) for (const p of positions) [low, high] = [Math.min(low, p), Math.max(high, p)]
    return [low, high + 1]
  }
  const [[top, bottom], [left, right]] = [range(rows, height), range(columns, width)]
  const source = (reads) => (p) => reads.sources[p + reads.before] ?? -1
  return { top, bottom, left, right, row: source(rows), column: source(columns) }
}

// The whole map without anything around it.
function mapExtent(height, width) {
  return { top: 0, left: 0, bottom: height, right: width, row: (r) => r, column: (c) => c }
}

// Lays a frame over a picture; left, top, right and bottom are fractions of it.
function place(frame, [left, top, right, bottom]) {
  frame.hidden = !(right > left && bottom > top)
  const sides = { left, top, width: right - left, height: bottom - top }
  for (const [side, share] of Object.entries(sides)) frame.style[side] = `${100 * share}%`
}

// Frame of the positions that are read, in fractions of an extent.
function windowFrame(rows, columns, row, column, extent) {
  const [down, across] = [rows.positions[row], columns.positions[column]]
  if (!down.length || !across.length) return [0, 0, 0, 0]
  const tall = extent.bottom - extent.top
  const wide = extent.right - extent.left
  const ends = (positions) => [Math.min(...positions), Math.max(...positions) + 1]
  const [[top, bottom], [left, right]] = [ends(down), ends(across)]
  return [(left - extent.left) / wide, (top - extent.top) / tall, (right - extent.left) / wide, (bottom - extent.top) / tall]
}
