// Draws the parameters from plain texts (textContent only) and reports which number was picked.
// While the hand moves the point, `ax-numbers` brings values and gradients, which are painted over
// the texts until the page draws them again. shared.js comes before it.

const silences = new WeakMap() // by the root: what ends listening to the window

function cell(entry, name, picked) {
  const here = picked.name === name && picked.place === entry.place
  const classes = [entry.changed && "changed", entry.text === "None" && "none", here && "picked"]
  const td = element("td", classes.filter(Boolean).join(" "), entry.text.replaceAll("-", "−"))
  if (entry.place !== undefined) {
    td.classList.add("pick")
    td.dataset.name = name
    td.dataset.place = entry.place
    td.setAttribute("aria-selected", here)
  }
  return td
}

function rows(row, block, picked) {
  return row.grid.map((line, i) => {
    const tr = element("tr", `${i === 0 ? "first" : ""} ${row.beside ? "beside" : ""}`)
    tr.dataset.row = `${block.name}|${row.label} ${row.beside ?? ""} ${i}`
    if (!row.beside) Object.assign(tr.dataset, { name: block.name, label: row.label.replace(".", "") })
    const label = row.beside ? `${row.label} (comparison)` : row.label
    if (i === 0) {
      const head = element("th", "", row.term ? "" : label)
      if (row.term) head.append(word(row.term, label, row.help))
      else head.title = row.help
      head.scope = "row"
      head.rowSpan = row.grid.length
      tr.append(head)
    }
    if (block.window) tr.append(element(row.index[i] ? "th" : "td", "index", row.index[i] ?? ""))
    const cells = line.map((entry) => cell(entry, block.name, picked))
    cells.forEach((td, column) => (td.dataset.column = column))
    tr.append(...cells)
    return tr
  })
}

function map(entry, name) {
  const figure = element("figure")
  const image = element("img")
  image.src = entry.src
  image.alt = entry.alt
  image.title = "Pick a number"
  Object.assign(image.dataset, { name, rows: entry.rows, columns: entry.columns, stride: entry.stride })
  const caption = element("figcaption", "", entry.title)
  const save = element("a", "", "↓")
  save.href = entry.src
  save.download = `${name}-${entry.file}`
  save.title = "Download as PNG"
  save.setAttribute("aria-label", `Download ${entry.title} as PNG`)
  caption.append(save)
  figure.append(image, caption)
  return figure
}

function draw(block, picked) {
  const wide = block.rows.some((row) => row.grid[0].length > 1) || block.maps.length
  const root = element("div", wide ? "block wide" : "block")
  const head = element("div", "head", block.name)
  head.append(element("small", "", block.shape))
  const table = element("table")
  table.setAttribute("role", "grid")
  table.setAttribute("aria-label", `${block.name}. Arrow keys move between numbers and labels, Enter selects.`)
  if (block.window) {
    const tr = element("tr", "columns")
    tr.append(element("td"), element("td"), ...block.columns.map((c) => element("th", "index", c)))
    table.append(tr)
  }
  table.append(...block.rows.flatMap((row) => rows(row, block, picked)))
  root.append(head, table)
  if (block.maps.length) {
    const maps = element("div", "maps")
    maps.append(...block.maps.map((entry) => map(entry, block.name)))
    root.append(maps)
  }
  return root
}

// Identifies the number or glossary term of a table cell, so that it is found again after a redraw.
function identify(stop) {
  const what = stop?.dataset?.place ?? stop?.dataset?.term
  return what === undefined ? null : `${stop.closest("tr").dataset.row}|${what}`
}

// The next number or term: along the row, or of the same kind in the next row that has one.
function neighbour(stops, here, key) {
  const along = { ArrowRight: 1, ArrowLeft: -1 }[key]
  if (along) return stops[stops.indexOf(here) + along]
  const step = { ArrowDown: 1, ArrowUp: -1 }[key]
  if (!step) return undefined
  const alike = stops.filter((stop) => stop.tagName === here.tagName)
  const rows = [...new Set(alike.map((stop) => stop.closest("tr")))]
  const next = rows[rows.indexOf(here.closest("tr")) + step]
  const column = (stop) => Number(stop.dataset.column ?? 0)
  return alike.findLast((stop) => stop.closest("tr") === next && column(stop) <= column(here))
}

const written = (value) => (value === null ? "nan" : String(+value.toPrecision(5)).replace("e+", "e")).replaceAll("-", "−")

// Paints the numbers of a frame: by parameter {value: […], grad: […]}, flattened.
function paint(root, parameters) {
  for (const tr of root.querySelectorAll("tr[data-label]")) {
    const numbers = parameters[tr.dataset.name]?.[tr.dataset.label]
    if (!numbers) continue
    for (const td of tr.querySelectorAll("td:not(.index)")) {
      const text = written(numbers[Number(td.dataset.place ?? 0)])
      td.classList.toggle("changed", td.textContent !== text || td.classList.contains("changed"))
      td.textContent = text
    }
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".blocks")
  keepInAddress(data.link.params, data.link.lacks)
  if (!silences.has(root)) silences.set(root, hear({ "ax-numbers": ({ parameters }) => parameters && paint(root, parameters) }))
  const focused = identify(root.getRootNode().activeElement)
  root.replaceChildren(...data.blocks.map((block) => draw(block, data.picked)))
  const stops = [...root.querySelectorAll("td.pick, th button")]
  // One number or term is in the Tab order; the arrow keys go from one to the next.
  const stop = (only) => stops.forEach((each) => (each.tabIndex = each === only ? 0 : -1))
  const again = focused && stops.find((each) => identify(each) === focused)
  stop(again || (root.querySelector("td.picked") ?? root.querySelector("td.pick") ?? stops[0]))
  again?.focus()
  const pick = (event) => {
    const { target } = event
    if (target.tagName === "TD" && target.dataset.place !== undefined) {
      setTriggerValue("clicked", { name: target.dataset.name, place: Number(target.dataset.place) })
    } else if (target.tagName === "IMG") {
      const box = target.getBoundingClientRect()
      const at = (share, count) => Math.min(count - 1, Math.max(0, Math.floor(share * count)))
      const row = at((event.clientY - box.top) / box.height, Number(target.dataset.rows))
      const column = at((event.clientX - box.left) / box.width, Number(target.dataset.columns))
      const place = row * Number(target.dataset.stride) + column
      setTriggerValue("clicked", { name: target.dataset.name, place })
    }
  }
  root.onclick = pick
  root.onkeydown = (event) => {
    if (!stops.includes(event.target)) return
    if (event.key === "Enter" || event.key === " ") {
      if (event.target.tagName === "BUTTON") return // it opens the glossary
      event.preventDefault()
      pick(event)
      return
    }
    const next = neighbour(stops, event.target, event.key)
    if (!next) return
    event.preventDefault()
    stop(next)
    next.focus()
  }
  return () => {
    silences.get(root)()
    silences.delete(root)
  }
}
