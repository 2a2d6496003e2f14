// Draws the layers of a network as a tree with totals, or as a list in the order of a column. All
// texts are a stranger's: textContent only. shared.js and address.js come before it.

// -- which rows, in which order, and their numbers as text

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

// -- the table and its keys

// How each network's table was left: it survives reruns, and another tab of the page.
const views = new Map()
const drawn = new WeakMap()

function viewOf({ network, tables }) {
  if (!views.has(network)) {
    const query = new URLSearchParams(location.search)
    const kind = query.get("rows") === "parameters" ? "Parameters" : "Layers"
    const sort = query.get("sort") ?? ""
    const column = sort.replace(/^-/, "")
    const known = tables[kind].columns.some(({ title }) => title === column)
    views.set(network, {
      kind,
      filter: (query.get("filter") ?? "").slice(0, 200),
      sort: known ? { column, down: sort.startsWith("-") } : null,
      open: null,
    })
  }
  return views.get(network)
}

function keep({ kind, sort, filter }) {
  const rows = kind === "Parameters" ? "parameters" : null
  keepInAddress({ rows, sort: sort && (sort.down ? "-" : "") + sort.column, filter: filter.trim() || null })
}

const control = (tag, className, text, title) => Object.assign(element(tag, className, text), { title, type: "button" })

// The dotted word opens the glossary, the rest of the heading sorts.
function heading({ title, help, style, term }, sort) {
  const cell = element("th", style)
  const way = sort?.column === title ? (sort.down ? "descending" : "ascending") : "none"
  Object.assign(cell, { scope: "col", title: help })
  cell.dataset.column = title
  cell.setAttribute("aria-sort", way)
  const [before, after] = term ? title.split(term[0]) : [title, ""]
  const parts = [before, term?.[0], after].map((text) => text?.trim())
  const sorts = control("button", "sort", parts[0] || parts[2], help)
  sorts.setAttribute("aria-label", `Sort by ${title}`)
  const dotted = term ? word(term[1], parts[1], "Opens the glossary") : ""
  cell.append(...(parts[0] ? [sorts, " ", dotted] : [dotted, " ", sorts]))
  cell.append(element("i", "", { none: "", ascending: " ▲", descending: " ▼" }[way]))
  return cell
}

function line(row, columns, open, mark) {
  const tr = element("tr", row.target === null ? "block" : "layer")
  tr.dataset.id = row.id
  const name = element("td", "name")
  name.title = row.path
  if (open) {
    tr.setAttribute("aria-level", row.depth + 1)
    name.style.paddingLeft = `${6 + 14 * Math.min(row.depth, 12)}px`
    if (row.folds) tr.setAttribute("aria-expanded", open.has(row.id))
    name.append(element("i", "fold", row.folds ? (open.has(row.id) ? "▾" : "▸") : ""))
  }
  name.append(open ? row.label : element("bdi", "", row.path))
  name.classList.toggle("whole", !open)
  const cells = (open ? row.cells : row.own).map((cell, i) => {
    const { style, marked } = columns[i + 1]
    const faint = ["None", "not counted", "shared"].includes(cell) ? " faint" : ""
    const td = element("td", style + faint, write(cell, style))
    if (marked && mark) td.prepend(element("b", mark, mark))
    return td
  })
  tr.append(name, ...cells)
  if (row.note) {
    const note = element("span", "note", row.note)
    if (row.term) note.append(" ", word(row.term, "Glossary", "Opens the glossary"))
    tr.lastElementChild.append(note)
  }
  return tr
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const [table, head, body, counted, filter, kinds, unfold, frame] = (
    ["table", "thead", "tbody", ".counted", "input", ".kinds", ".unfold", ".frame"]
      .map((selector) => parentElement.querySelector(selector))
  )
  const last = drawn.get(parentElement)
  const digest = JSON.stringify(data.tables)
  const tables = last?.digest === digest ? last.tables : Object.fromEntries(
    Object.entries(data.tables).map(([kind, table]) => [kind, { ...table, rows: toRows(table.rows) }])
  )
  drawn.set(parentElement, { digest, tables })
  let selected = window.axLayer ?? null
  const view = viewOf(data)
  const blocks = tables.Layers.rows.filter((row) => row.folds)
  view.open ??= firstOpen(tables.Layers.rows)

  const layerOf = (row) => (view.kind === "Layers" ? row.target : row.target.split(".").slice(0, -1).join("."))
  const reveal = (row) => view.kind === "Layers" && around(tables.Layers.rows, row.id).forEach((id) => view.open.add(id))
  const lineOf = (id) => body.querySelector(`tr[data-id="${id}"]`)
  const show = (id) => lineOf(id)?.scrollIntoView({ block: "nearest" })

  function select(row) {
    if (row.target) setTriggerValue(view.kind === "Layers" ? "layer" : "parameter", row.target)
  }

  function go(row) {
    if (isFlat(view)) Object.assign(view, { sort: null, filter: "" })
    reveal(row)
    draw()
    show(row.id)
    select(row)
  }

  function toggle(row, on = !view.open.has(row.id)) {
    view.open[on ? "add" : "delete"](row.id)
    draw(row.id)
  }

  function sortBy(column) {
    const { sort } = view
    view.sort = sort?.column !== column ? { column, down: false } : sort.down ? null : { column, down: true }
    draw()
    frame.scrollTop = 0
    head.querySelector(`th[data-column="${CSS.escape(column)}"] .sort`).focus()
  }

  function draw(focused) {
    const { columns, rows, extremes } = tables[view.kind]
    const tree = !isFlat(view) && view.kind === "Layers"
    const shown = visible(rows, columns, view)
    const marks = new Map()
    for (const [mark, id] of Object.entries(extremes)) marks.set(id, mark)
    const top = element("tr")
    top.append(...columns.map((column) => heading(column, view.sort)))
    head.replaceChildren(top)
    body.replaceChildren(...shown.map((row) => line(row, columns, tree ? view.open : null, marks.get(row.id))))
    for (const tr of body.children) {
      const row = rows[tr.dataset.id]
      const on = Boolean(selected) && row.target !== null && layerOf(row) === selected
      tr.classList.toggle("selected", on)
      tr.setAttribute("aria-selected", on)
    }
    table.setAttribute("role", tree ? "treegrid" : "grid")
    table.setAttribute("aria-label", `${view.kind} of the network. ${data.help}`)
    counted.textContent = view.filter.trim() ? `${shown.length} of ${rows.length} rows` : tables[view.kind].rest
    for (const button of kinds.children) button.setAttribute("aria-pressed", button.textContent === view.kind)
    unfold.hidden = !tree || !blocks.length
    unfold.textContent = blocks.every(({ id }) => view.open.has(id)) ? "Collapse all" : "Expand all"
    if (filter.value.trim() !== view.filter.trim()) filter.value = view.filter
    stop(focused === undefined ? null : lineOf(focused))
    keep(view)
  }

  // Of all rows and words one is in the Tab order; the arrow keys go from line to line, and along a
  // line. In the tree, → and ← also unfold and fold.
  const lines = () => [
    [...head.querySelectorAll("button")],
    ...[...body.rows].map((tr) => [tr, ...tr.querySelectorAll("button")]),
  ]
  function stop(element) {
    const stops = lines().flat()
    const to = element ?? body.querySelector("tr.selected") ?? body.rows[0] ?? stops[0]
    for (const each of stops) each.tabIndex = each === to ? 0 : -1
    if (element) element.focus()
  }

  body.onclick = (event) => {
    const tr = event.target.closest("tr")
    if (!tr || event.target.closest("button") || getSelection().toString()) return
    const row = tables[view.kind].rows[tr.dataset.id]
    const folds = row.folds && !isFlat(view)
    if (folds && (row.target === null || event.target.closest(".fold"))) toggle(row)
    else if (row.target) select(row)
    else if (row.folds) go(row)
  }
  head.onclick = (event) => {
    const cell = event.target.closest("th")
    if (cell && !event.target.closest("[data-term]")) sortBy(cell.dataset.column)
  }
  table.onkeydown = (event) => {
    const here = event.target.closest("button, tr")
    const all = lines()
    const at = all.findIndex((line) => line.includes(here))
    const press = event.key === "Enter" || event.key === " "
    if (at < 0 || (press && here.tagName === "BUTTON")) return
    const along = all[at].indexOf(here)
    const row = here.tagName === "TR" ? tables[view.kind].rows[here.dataset.id] : null
    const open = here.getAttribute("aria-expanded")
    const parent = row && !isFlat(view) ? around(tables[view.kind].rows, row.id)[0] : undefined
    const to = {
      ArrowDown: all[at + 1]?.[0],
      ArrowUp: all[at - 1]?.[0],
      ArrowRight: all[at][along + 1],
      ArrowLeft: all[at][along - 1] ?? (parent === undefined ? undefined : lineOf(parent)),
      Home: all[1]?.[0],
      End: all.at(-1)[0],
    }
    if (!press && !(event.key in to)) return
    event.preventDefault()
    if (press) here.click()
    else if ((event.key === "ArrowRight" && open === "false") || (event.key === "ArrowLeft" && open === "true")) toggle(row)
    else if (to[event.key]) stop(to[event.key])
  }
  filter.oninput = () => {
    view.filter = filter.value.slice(0, 200)
    draw()
  }
  kinds.onclick = (event) => {
    if (!event.target.closest("button")) return
    Object.assign(view, { kind: event.target.textContent, sort: null })
    draw()
  }
  unfold.onclick = () => {
    const all = blocks.every(({ id }) => view.open.has(id))
    view.open = all ? new Set([0]) : new Set(blocks.map(({ id }) => id))
    draw()
  }

  // Another layer was selected, here or elsewhere on the page: its row is scrolled into view.
  const mark = () => {
    selected = window.axLayer ?? null
    const row = selected && tables[view.kind].rows.find((row) => row.target !== null && layerOf(row) === selected)
    if (row) reveal(row)
    draw(held())
    const tr = row && lineOf(row.id)
    if (!tr) return
    const lowest = tr.offsetTop + tr.offsetHeight - frame.clientHeight
    frame.scrollTop = Math.min(Math.max(frame.scrollTop, lowest), tr.offsetTop - head.offsetHeight)
  }
  const held = () => body.getRootNode().activeElement?.closest?.("tbody tr")?.dataset.id
  window.addEventListener("ax-layer", mark)
  mark()
  return () => {
    window.removeEventListener("ax-layer", mark)
    drawn.delete(parentElement)
  }
}
