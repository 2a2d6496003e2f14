// Draws a table from plain texts (textContent only: they are a stranger's) and reports clicks.

const drawn = new WeakMap()

function element(tag, className, text) {
  const node = document.createElement(tag)
  if (className) node.className = className
  if (text !== undefined) node.textContent = text
  return node
}

function heading(columns) {
  const row = element("tr")
  for (const column of columns) {
    const cell = element("th", column.style, column.title)
    cell.scope = "col"
    if (column.help) cell.title = column.help
    row.append(cell)
  }
  return row
}

function line(row, columns) {
  const tr = element("tr", row.kind)
  tr.dataset.id = row.id
  row.cells.forEach((text, i) => {
    const faint = text === "None" || text === "False" ? " faint" : ""
    const cell = element("td", columns[i].style + faint, text)
    if (columns[i].style === "name") cell.title = text // may be cut off
    tr.append(cell)
  })
  const last = tr.lastElementChild
  if (row.cells.length < columns.length) {
    last.colSpan = columns.length - row.cells.length + 1
    if (row.note) last.append(element("span", "note", row.note))
  } else if (row.note) {
    last.title = row.note
    last.classList.add("hinted")
  }
  return tr
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const body = parentElement.querySelector("tbody")
  const digest = JSON.stringify([data.columns, data.rows])
  if (drawn.get(parentElement) !== digest) {
    parentElement.querySelector("thead").replaceChildren(heading(data.columns))
    body.replaceChildren(...data.rows.map((row) => line(row, data.columns)))
    drawn.set(parentElement, digest)
  }
  parentElement.querySelector("table").setAttribute("aria-label", data.label)
  parentElement.querySelector(".rest").textContent = data.rest
  const rows = [...body.children]
  for (const tr of rows) {
    const on = Number(tr.dataset.id) === data.selected
    tr.classList.toggle("selected", on)
    tr.setAttribute("aria-selected", on)
  }
  // Of all rows one is in the Tab order; the arrow keys go from row to row.
  const stop = (row) => rows.forEach((tr) => (tr.tabIndex = tr === row ? 0 : -1))
  const held = body.getRootNode().activeElement
  stop(rows.includes(held) ? held : (rows.find((tr) => tr.matches(".selected")) ?? rows[0]))
  const choose = (event) => {
    const tr = event.target.closest("tr")
    if (tr && !getSelection().toString()) setTriggerValue("clicked", Number(tr.dataset.id))
  }
  body.onclick = choose
  body.onkeydown = (event) => {
    const here = rows.indexOf(event.target.closest("tr"))
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: rows.length - 1 }[event.key]
    if (to === undefined && event.key !== "Enter" && event.key !== " ") return
    event.preventDefault()
    if (to === undefined) return choose(event)
    if (!rows[to]) return
    stop(rows[to])
    rows[to].focus()
  }
  return () => drawn.delete(parentElement)
}
