// What the tree of layers shows: which of its rows, in which order, and their numbers as text. It
// comes before tree.js.

const ROOM = 30 // as many rows are unfolded at first, if whole levels allow it

// The server's lists (`make_tables` in tree.py) as rows. `target` is null for a block, which only
// calls others.
const toRows = (lists) =>
  lists.map(([depth, path, label, target, folds, cells, note, term, own], id) => ({
    ...{ id, depth, path, folds, cells, note, term, own: own ?? cells },
    label: typeof label === "number" ? path.slice(label) : label,
    target: target === true ? path : target,
  }))

// The blocks to unfold so that the top levels are seen.
function firstOpen(rows) {
  let level = 1
  const count = (depth) => rows.filter((row) => row.depth <= depth).length
  while (level < 20 && count(level + 1) <= ROOM) level++
  return new Set(rows.filter((row) => row.folds && row.depth < level).map((row) => row.id))
}

// The blocks around a row.
function around(rows, id) {
  const blocks = []
  let { depth } = rows[id]
  for (let at = id - 1; at >= 0 && depth > 0; at--) {
    if (rows[at].depth < depth) {
      blocks.push(at)
      depth = rows[at].depth
    }
  }
  return blocks
}

// A tree has neither an order of its own nor a filter: with one of them, rows are a flat list.
const isFlat = ({ sort, filter }) => Boolean(sort || filter.trim())

function visible(rows, columns, { sort, filter, open }) {
  const wanted = filter.trim().toLowerCase()
  if (wanted || sort) {
    const matches = rows.filter((row) =>
      wanted ? `${row.path} ${row.cells[0]}`.toLowerCase().includes(wanted) : row.target !== null
    )
    return sort ? inOrder(matches, columns, sort) : matches
  }
  let closed = Infinity
  return rows.filter((row) => {
    if (row.depth > closed) return false
    closed = row.folds && !open.has(row.id) ? row.depth : Infinity
    return true
  })
}

// Rows without a value are last in either direction, equal ones in the order of execution.
function inOrder(rows, columns, { column, down }) {
  const at = columns.findIndex(({ title }) => title === column)
  const value = (row) => (at ? comparable(row.own[at - 1], columns[at].style) : row.path)
  const keyed = rows.map((row) => [value(row), row])
  const compare = ([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null)
    const order = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b
    return down ? -order : order
  }
  return keyed.sort(compare).map(([, row]) => row)
}

function comparable(cell, style) {
  if (typeof cell === "number") return cell
  if (!cell) return null
  if (style === "text") return cell
  return style === "part" ? parseInt(cell, 10) : null // "3/64"
}

const WRITE = {
  count: (value) => value.toLocaleString("en-US"),
  bytes: (value) => {
    const [unit, step] = [["MB", 2 ** 20], ["kB", 2 ** 10]].find(([, step]) => value >= step) ?? ["B", 1]
    return `${Number((value / step).toPrecision(3))} ${unit}`
  },
  number: (value) => {
    const size = Math.abs(value)
    return size && (size < 1e-4 || size >= 1e5) ? value.toExponential(3) : String(Number(value.toPrecision(4)))
  },
}

// A cell is a number, a text or null.
const write = (cell, style) => (typeof cell === "number" ? WRITE[style](cell) : cell ?? "")
