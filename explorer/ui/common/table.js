// Draws a table from plain texts (textContent only: they are a stranger's) and reports clicks.
// elements.js and table_live.js come before it.

const drawn = new WeakMap()
const listening = new WeakMap()

function heading(columns) {
  const row = element("tr")
  for (const column of columns) {
    const cell = element("th", column.style, column.term ? "" : column.title)
    cell.scope = "col"
    if (column.term) cell.append(word(column.term, column.title, column.help))
    else if (column.help) cell.title = column.help
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

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const [head, body] = ["thead", "tbody"].map((tag) => parentElement.querySelector(tag))
  const table = parentElement.querySelector("table")
  const digest = JSON.stringify([data.columns, data.rows])
  if (drawn.get(parentElement) !== digest) {
    head.replaceChildren(heading(data.columns))
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
    if (tr && !getSelection().toString()) setTriggerValue("clicked", Number(tr.dataset.id))
  }
  body.onclick = choose
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
