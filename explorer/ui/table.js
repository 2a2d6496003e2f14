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
    if (column.help) cell.title = column.help
    row.append(cell)
  }
  return row
}

function line(row, columns) {
  const tr = element("tr", row.kind)
  tr.dataset.id = row.id
  tr.tabIndex = 0
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
  parentElement.querySelector(".rest").textContent = data.rest
  for (const tr of body.children) {
    const on = Number(tr.dataset.id) === data.selected
    tr.classList.toggle("selected", on)
    tr.setAttribute("aria-selected", on)
  }
  const choose = (event) => {
    const tr = event.target.closest("tr")
    if (tr && !getSelection().toString()) setTriggerValue("clicked", Number(tr.dataset.id))
  }
  body.onclick = choose
  body.onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return
    event.preventDefault()
    choose(event)
  }
  return () => drawn.delete(parentElement)
}
