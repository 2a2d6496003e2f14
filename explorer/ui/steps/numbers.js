// Draws the parameters from plain texts (textContent only) and reports which number was picked.

function element(tag, className, text) {
  const node = document.createElement(tag)
  if (className) node.className = className
  if (text !== undefined) node.textContent = text
  return node
}

function cell(entry, name, picked) {
  const here = picked.name === name && picked.place === entry.place
  const classes = [entry.changed && "changed", entry.text === "None" && "none", here && "picked"]
  const td = element("td", classes.filter(Boolean).join(" "), entry.text.replace("-", "−"))
  if (entry.place !== undefined) {
    td.classList.add("pick")
    td.dataset.name = name
    td.dataset.place = entry.place
    td.tabIndex = 0
  }
  return td
}

function rows(row, block, picked) {
  return row.grid.map((line, i) => {
    const tr = element("tr", `${i === 0 ? "first" : ""} ${row.beside ? "beside" : ""}`)
    const label = row.beside ? `${row.label}, beside` : row.label
    const head = element("th", "", i === 0 ? label : "")
    head.title = row.help
    tr.append(head)
    if (block.window) tr.append(element("th", "index", row.index[i] ?? ""))
    tr.append(...line.map((entry) => cell(entry, block.name, picked)))
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
  if (block.window) {
    const tr = element("tr", "columns")
    tr.append(element("th"), element("th"), ...block.columns.map((c) => element("th", "index", c)))
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

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".blocks")
  root.replaceChildren(...data.blocks.map((block) => draw(block, data.picked)))
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
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault()
      pick(event)
    }
  }
}
