// The sum and the tables below the maps. Only texts and colours change while the pointer moves.

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
