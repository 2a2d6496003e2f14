// Draws maps in the colours of the tiles, frames over them, and the sum and the tables below them.
// While the pointer moves, only frames, texts and colours change.

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

const NUMBERED = 5 // wider kernels show their numbers as colours only
const CELLS = 441 // larger windows, as those of global pooling, are not written out

// Writes a sum: signs, and terms with a value over a name. A term that stands for a kept input
// channel is a button that chooses it.
const term = (value, name, input) => ({ value, name, input })

function fill(state, parts) {
  const built = parts.map((part) => part.input ?? typeof part).join()
  if (state.filled !== built) {
    state.filled = built
    state.sum.replaceChildren(...parts.map((part) => makePart(state, part)))
  }
  parts.forEach((part, i) => {
    const node = state.sum.children[i]
    if (typeof part === "string") return write(node, part)
    write(node.firstChild, part.value)
    write(node.lastChild, part.name)
    if (part.input !== undefined) node.setAttribute("aria-pressed", part.input === state.input)
  })
}

function makePart(state, part) {
  if (typeof part === "string") return element("span", "sign")
  const node = element(part.input === undefined ? "span" : "button", "term")
  node.append(element("b"), element("i"))
  if (part.input !== undefined) {
    node.type = "button"
    node.title = "Show the window in this input channel"
    node.onclick = () => ((state.input = part.input), paintSource(state), show(state))
  }
  return node
}

function write(node, text) {
  if (node.textContent !== text) node.textContent = text
}

// Tables of cells; each has a sign before it, a title, cells, the largest value of all positions, and
// a cell to mark. They are built again only where their size differs.
function draw(state, parts) {
  const built = JSON.stringify(parts.map(([sign, , cells]) => [sign, cells.length, cells[0]?.length]))
  if (state.drawn !== built) {
    state.drawn = built
    state.tables.replaceChildren(...parts.map(([sign, , cells]) => makeGrid(sign, cells)))
  }
  parts.forEach(([, title, cells, largest, marked], i) => {
    const figure = state.tables.children[i].lastChild
    write(figure.firstChild, title)
    if (figure.children.length > 1) fillGrid(figure.lastChild, cells, largest, marked, state.data.colours)
  })
}

function makeGrid(sign, cells) {
  const [pair, figure] = [element("div", "signed"), element("figure")]
  if (sign) pair.append(element("span", "sign", sign))
  pair.append(figure)
  figure.append(element("figcaption"))
  const wide = cells[0]?.length ?? 0
  if (!wide || wide * cells.length > CELLS) return pair
  const table = element("table", wide > NUMBERED ? "colours" : "")
  for (const line of cells) {
    const tr = table.insertRow()
    line.forEach(() => tr.insertCell())
  }
  figure.append(table)
  return pair
}

function fillGrid(table, cells, largest, marked, colours) {
  const wide = cells[0].length
  const decimals = decimalsFor(largest, wide > 3 ? 2 : 3)
  cells.forEach((line, i) => {
    const tds = table.rows[i].cells
    line.forEach((cell, j) => {
      const td = tds[j]
      if (wide > NUMBERED) td.title = number(cell.value)
      else write(td, fixed(cell.value, decimals))
      const isMarked = marked && cell.row === marked.row && cell.column === marked.column
      const name = isMarked ? "marked" : cell.inside ? "" : "padding"
      if (td.className !== name) td.className = name
      const share = largest > 0 ? Math.min(1, Math.abs(cell.value) / largest) : 0
      const [r, g, b] = colours.anchors[cell.value > 0 ? 3 : 1]
      td.style.backgroundColor = `rgba(${r}, ${g}, ${b}, ${(0.7 * share).toFixed(2)})`
    })
  })
}
