// What a table of tensors does without the server: it tells and shows which row the pointer is
// over, and paints the numbers of a drag. It comes before table.js.
//
// Events of the window: `ax-hover` {from, nodes, tensor, line} or null; `ax-numbers`
// {rows: {tensor: {column: text}}}.

const CHANGED_MS = 600

function listen(table) {
  let over = null
  const hover = (row) => {
    if (over === row) return
    over = row
    const { tensor, line } = row?.dataset ?? {}
    const detail = tensor && { from: "table", nodes: [], tensor: Number(tensor), line: Number(line) || null }
    window.dispatchEvent(new CustomEvent("ax-hover", { detail: detail ?? null }))
  }
  const enter = (event) => hover(event.target.closest("tr[data-tensor]"))
  const leave = () => hover(null)
  const own = { pointerover: enter, focusin: enter, pointerleave: leave, focusout: leave }
  for (const [name, listener] of Object.entries(own)) table.addEventListener(name, listener)

  const show = ({ detail }) => {
    const { tensor = null, line = null } = detail ?? {}
    for (const row of table.querySelectorAll("tr[data-tensor]")) {
      const { dataset } = row
      const same = tensor === null ? line && dataset.line === String(line) : dataset.tensor === String(tensor)
      row.classList.toggle("hovered", Boolean(same))
    }
  }
  const changed = new Set()
  let resting = 0
  const paint = ({ detail }) => {
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
  window.addEventListener("ax-hover", show)
  window.addEventListener("ax-numbers", paint)
  return () => {
    window.removeEventListener("ax-hover", show)
    window.removeEventListener("ax-numbers", paint)
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
