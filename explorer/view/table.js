// Draws a table from plain texts (textContent only: they are a stranger's), reports clicks, tells and
// shows which row the pointer is over, and paints the numbers of a drag. Uses shared.js.
//
// Events of the window: `ax-hover` {from, nodes, tensor, line} or null; `ax-numbers`
// {rows: {tensor: {column: text}}}.

const drawn = new WeakMap()
const listening = new WeakMap()
const CHANGED_MS = 600

// With a `sort`, {column, down}, each heading has a button that asks for another.
function heading(columns, sort) {
  const row = element("tr")
  for (const column of columns) {
    const cell = element("th", column.style, column.term || sort ? "" : column.title)
    cell.scope = "col"
    if (column.term) cell.append(word(column.term, column.title, column.help))
    else if (column.help) cell.title = column.help
    if (sort) {
      const way = sort.column !== column.title ? "none" : sort.down ? "descending" : "ascending"
      const arrow = { none: "↕", ascending: "▲", descending: "▼" }[way]
      const button = element("button", "sort", column.term ? arrow : `${column.title} ${arrow}`)
      Object.assign(button, { type: "button", title: `Sort by ${column.title}` })
      button.dataset.sort = column.title
      cell.setAttribute("aria-sort", way)
      cell.append(button)
    }
    row.append(cell)
  }
  return row
}

function line(row, columns, terms) {
  const tr = element("tr", row.kind)
  tr.dataset.id = row.id
  if (row.tensor !== null) Object.assign(tr.dataset, { tensor: row.tensor, line: row.line ?? "" })
  row.cells.forEach((text, i) => {
    const faint = text === "None" || text === "False" ? " faint" : ""
    const cell = element("td", columns[i].style + faint, text)
    if (columns[i].style === "name") cell.title = text // may be cut off
    if (i === 0) underlineName(cell, row.colour)
    cell.dataset.column = columns[i].title
    tr.append(cell)
  })
  const last = tr.lastElementChild
  if (row.cells.length < columns.length) {
    last.colSpan = columns.length - row.cells.length + 1
    const note = element("span", "note", row.note)
    if (row.term) note.append(" ", word(row.term, terms[row.term], "Opens the glossary"))
    last.append(note)
  } else if (row.term) {
    last.replaceChildren(word(row.term, last.textContent, row.note))
  } else if (row.note) {
    last.title = row.note
  }
  return tr
}

function listen(table) {
  let over = null
  const hover = (row) => {
    if (over === row) return
    over = row
    const { tensor, line } = row?.dataset ?? {}
    const detail = tensor && { from: "table", nodes: [], tensor: Number(tensor), line: Number(line) || null }
    announce("ax-hover", detail ?? null)
  }
  const enter = (event) => hover(event.target.closest("tr[data-tensor]"))
  const leave = () => hover(null)
  const own = { pointerover: enter, focusin: enter, pointerleave: leave, focusout: leave }
  for (const [name, listener] of Object.entries(own)) table.addEventListener(name, listener)

  const show = (detail) => {
    const { tensor = null, line = null } = detail ?? {}
    for (const row of table.querySelectorAll("tr[data-tensor]")) {
      const { dataset } = row
      const same = tensor === null ? line && dataset.line === String(line) : dataset.tensor === String(tensor)
      row.classList.toggle("hovered", Boolean(same))
    }
  }
  const changed = new Set()
  let resting = 0
  const paint = (detail) => {
    for (const [tensor, texts] of Object.entries(detail?.rows ?? {})) {
      const row = table.querySelector(`tr[data-tensor="${CSS.escape(tensor)}"]`)
      for (const cell of row?.cells ?? []) {
        const text = texts[cell.dataset.column]
        if (text === undefined || text === cell.textContent || !fits(cell, text)) continue
        freeze(table)
        cell.textContent = text
        if (cell.scrollWidth > cell.clientWidth && !cell.classList.contains("array")) {
          free(table) // a part of a number would be another number
          freeze(table)
        }
        cell.classList.add("changed")
        changed.add(cell)
      }
    }
    clearTimeout(resting)
    resting = setTimeout(() => {
      for (const cell of changed) cell.classList.remove("changed")
      changed.clear()
    }, CHANGED_MS)
  }
  const silence = hear({ "ax-hover": show, "ax-numbers": paint })
  return () => {
    silence()
    hover(null)
  }
}

// A cell with a note or a word of its own is no number; more lines would move what is below.
function fits(cell, text) {
  return !cell.childElementCount && cell.textContent.split("\n").length === text.split("\n").length
}

// While numbers change, the columns stay as wide as they are.
function freeze(table) {
  if (table.classList.contains("frozen")) return
  const widths = [...table.tHead.rows[0].cells].map((cell) => cell.offsetWidth)
  widths.forEach((width, i) => (table.tHead.rows[0].cells[i].style.width = `${width}px`))
  table.classList.add("frozen")
}

function free(table) {
  for (const cell of table.tHead.rows[0]?.cells ?? []) cell.style.width = ""
  table.classList.remove("frozen")
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const [head, body] = ["thead", "tbody"].map((tag) => parentElement.querySelector(tag))
  const table = parentElement.querySelector("table")
  const digest = JSON.stringify([data.columns, data.rows, data.sort])
  if (drawn.get(parentElement) !== digest) {
    head.replaceChildren(heading(data.columns, data.sort))
    body.replaceChildren(...data.rows.map((row) => line(row, data.columns, data.terms)))
    drawn.set(parentElement, digest)
    free(table)
  }
  table.setAttribute("aria-label", data.label)
  parentElement.querySelector(".rest").textContent = data.rest
  const rows = [...body.children]
  for (const tr of rows) {
    const on = Number(tr.dataset.id) === data.selected
    tr.classList.toggle("selected", on)
    tr.setAttribute("aria-selected", on)
  }
  // Of all rows and words one is in the Tab order; the arrow keys go from line to line, and along
  // a line from the row to its words.
  const words = (element) => [...element.querySelectorAll("button")]
  const lines = [words(head), ...rows.map((tr) => [tr, ...words(tr)])].filter((line) => line.length)
  const stops = lines.flat()
  const stop = (element) => stops.forEach((each) => (each.tabIndex = each === element ? 0 : -1))
  const held = body.getRootNode().activeElement
  stop(stops.includes(held) ? held : (rows.find((tr) => tr.matches(".selected")) ?? rows[0] ?? stops[0]))
  const choose = (event) => {
    const tr = event.target.closest("button") ? null : event.target.closest("tr")
    if (tr) setTriggerValue("clicked", Number(tr.dataset.id))
  }
  head.onclick = (event) => {
    const column = event.target.closest("[data-sort]")?.dataset.sort
    if (column) setTriggerValue("sort", column)
  }
  body.onclick = (event) => getSelection().toString() || choose(event) // words were selected to copy
  table.onkeydown = (event) => {
    const here = event.target.closest("button, tr")
    const at = lines.findIndex((line) => line.includes(here))
    if (at < 0) return
    const along = lines[at].indexOf(here)
    const to = {
      ArrowDown: lines[at + 1]?.[0],
      ArrowUp: lines[at - 1]?.[0],
      ArrowRight: lines[at][along + 1],
      ArrowLeft: lines[at][along - 1],
      Home: rows[0],
      End: rows.at(-1),
    }
    const press = event.key === "Enter" || event.key === " "
    if ((press && here.tagName === "BUTTON") || !(press || event.key in to)) return
    event.preventDefault()
    if (press) return choose(event)
    if (!to[event.key]) return
    stop(to[event.key])
    to[event.key].focus()
  }
  if (!listening.has(parentElement)) listening.set(parentElement, listen(table))
  return () => {
    listening.get(parentElement)()
    listening.delete(parentElement)
    drawn.delete(parentElement)
  }
}
