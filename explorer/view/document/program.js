// The document of a program: one selection that graph, walk, table and program all show.

const PLAY_MS = 1600
const table = data.tables[0]
const gradient = table?.columns.findIndex(({ title }) => title === "Gradient")
const first = part("graph")?.querySelector(".canvas svg")
const still = first ? new XMLSerializer().serializeToString(first) : ""
let pass = null
let graph = null
let details = null
let picked = { node: null, tensor: null, step: null, line: null, walking: false }
let sort = { column: "", down: false }
let playing = 0

// -- what is picked, each with its counterparts -----------------------------------------------------

function pickNode(id) {
  if (!id || !pass) return show({})
  const [tensor, line, step] = pass.nodes[id] ?? pass.nodes[pass.boxes[id]] ?? [null, null, null]
  show({ node: id, tensor, line, step })
}

function pickTensor(id) {
  const row = table.rows.find((one) => one.id === id)
  const node = pass && Object.keys(pass.nodes).find((name) => pass.nodes[name][0] === id)
  show({ node, tensor: id, line: row?.line, step: node ? pass.nodes[node][2] : null })
}

// What a line made: its last named tensor, or else any tensor or node of it.
function pickLine(line) {
  const made = (table?.rows ?? []).filter((row) => row.line === line)
  const last = made.filter((row) => row.kind !== "unnamed").at(-1) ?? made.at(-1)
  if (last) return pickTensor(last.id)
  const node = pass && Object.keys(pass.nodes).find((name) => pass.nodes[name][1] === line)
  if (node) pickNode(node)
}

function pickStep(step) {
  if (step < 0) return show({})
  const { node } = pass.steps[step]
  const [tensor, line] = pass.nodes[pass.boxes[node] ?? node] ?? []
  show({ node, tensor, line, step, walking: true })
}

function show({ node = null, tensor = null, step = null, line = null, walking = false }) {
  picked = { node, tensor: tensor ?? null, step: pass?.steps.length > step ? (step ?? null) : null, line: line ?? null, walking }
  graph?.draw()
  drawWalk()
  drawTable_()
  drawSource()
  drawDetail()
}

// -- the walk ---------------------------------------------------------------------------------------

function marks() {
  const { node, step, walking } = picked
  const none = { selected: node, current: null, active: [], moving: [], sums: [], hidden: () => false, arriving: () => false, walking }
  if (step === null) return none
  const now = pass.steps[step]
  const found = { ...none, current: now.node, active: now.to.map((to) => `${to}-${now.node}`), moving: now.moving }
  if (!walking) return found
  const arrival = (id) => pass.arrival[id] ?? -1
  return { ...found, sums: now.sums, hidden: (id) => arrival(id) > step, arriving: (id) => arrival(id) === step }
}

function drawWalk() {
  if (!part("walk")) return
  const last = pass.steps.length
  const at = picked.step === null ? 0 : picked.step + 1
  const step = pass.steps[picked.step]
  part("walk").hidden = !last
  Object.assign(part("at"), { max: last, value: at })
  part("where").textContent = step ? step.at : pass.start
  part("before").disabled = !at
  part("after").disabled = at === last
  part("rule").innerHTML = step?.rule ?? ""
  part("flows").innerHTML = step?.flows ?? ""
  if (step?.entries.length) drawEntry(step.entries)
  if (at === last) pause()
}

// Where a factor is a matrix, one entry of the gradient: its row of the Jacobian.
function drawEntry(entries) {
  const [choice, sum] = [element("select"), element("div")]
  choice.setAttribute("aria-label", "One entry of the gradient")
  choice.append(...entries.map(([name], i) => Object.assign(element("option", "", name), { value: i })))
  choice.onchange = () => (sum.innerHTML = entries[choice.value][1])
  sum.innerHTML = entries[0][1]
  const row = element("label", "row", "One entry of the gradient")
  row.append(choice)
  part("flows").append(row, sum)
}

function pause() {
  clearInterval(playing)
  playing = 0
  part("play").textContent = "Play"
}

function next() {
  pickStep(picked.step === null ? 0 : picked.step + 1)
}

function play() {
  if (playing) return pause()
  if (picked.step === pass.steps.length - 1) pickStep(-1)
  playing = setInterval(next, PLAY_MS)
  part("play").textContent = "Pause"
  next()
}

// -- the table, and one tensor in detail -----------------------------------------------------------

// While a reader walks, the gradients that have not arrived are not told.
function waiting(row) {
  const place = pass?.awaited[row.id] ?? -1
  if (!picked.walking || picked.step === null || place <= picked.step) return row
  const note = `${row.note} It arrives at step ${place + 1}.`.trim()
  return { ...row, cells: [...row.cells.slice(0, gradient), "not yet"], note, term: "" }
}

const numeric = (text) => (/^-?[\d,.]+(e[-+]?\d+)?$/.test(text) ? Number(text.replaceAll(",", "")) : null)

function inOrder(rows) {
  const column = table.columns.findIndex(({ title }) => title === sort.column)
  if (column < 0) return rows
  const value = (row) => row.cells[column] ?? ""
  const compare = (a, b) => {
    const [x, y] = [numeric(a), numeric(b)]
    return x !== null && y !== null ? x - y : a.localeCompare(b, "en", { numeric: true })
  }
  const sorted = [...rows].sort((a, b) => compare(value(a), value(b)))
  return sort.down ? sorted.reverse() : sorted
}

function drawTable_() {
  if (!table) return
  const wanted = part("filter").value.trim().toLowerCase()
  const matches = table.rows.filter((row) => !wanted || row.cells.join(" ").toLowerCase().includes(wanted))
  const rest = wanted ? `${matches.length} of ${table.rows.length} rows` : table.rest
  drawTable({
    data: { ...table, rows: inOrder(matches).map(waiting), selected: picked.tensor, sort, rest },
    parentElement: part("tensors"),
    setTriggerValue: (what, value) => (what === "sort" ? sortBy(value) : value === picked.tensor ? show({}) : pickTensor(value)),
  })
}

function sortBy(column) {
  sort = sort.column !== column ? { column, down: false } : sort.down ? { column: "", down: false } : { column, down: true }
  drawTable_()
  part("tensors").querySelector(`[data-sort="${CSS.escape(column)}"]`)?.focus()
}

async function drawDetail() {
  if (!part("detail")) return
  const { tensor } = picked
  if (tensor !== null) details ??= JSON.parse((await later("details")) || "{}")
  part("detail").innerHTML = (picked.tensor !== null && details?.[picked.tensor]) || ""
}

// -- the program ------------------------------------------------------------------------------------

const lines = [...document.querySelectorAll("#source .line")]
const pressable = new Set(data.source)

function drawSource() {
  for (const line of lines) line.classList.toggle("selected", Number(line.dataset.line) === picked.line)
  const chosen = lines.find((line) => line.matches(".selected"))
  const stop = chosen ?? stops[0]
  for (const line of stops) line.tabIndex = line === stop ? 0 : -1
  if (chosen) reveal(chosen)
}

// Scrolls the listing of a line, not the page.
function reveal(line) {
  const code = line.closest(".listing")
  const top = line.offsetTop
  if (top < code.scrollTop || top + line.offsetHeight > code.scrollTop + code.clientHeight) code.scrollTop = top - code.clientHeight / 3
}

const stops = lines.filter((line) => pressable.has(Number(line.dataset.line)))
for (const code of document.querySelectorAll("#source .listing")) {
  const first = code.querySelector(".failed") ?? stops.find((line) => code.contains(line))
  if (first) reveal(first)
}
for (const line of stops) {
  const number = Number(line.dataset.line)
  line.classList.add("made")
  line.setAttribute("role", "button")
  const tell = () => announce("ax-hover", { from: "source", nodes: [], tensor: null, line: number })
  const quiet = () => announce("ax-hover", null)
  Object.assign(line, { onpointerenter: tell, onpointerleave: quiet, onfocus: tell, onblur: quiet })
  line.onclick = () => getSelection().toString() || pickLine(number)
  line.onkeydown = (event) => {
    const here = stops.indexOf(line)
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: stops.length - 1 }[event.key]
    if (event.key === "Enter" || event.key === " ") pickLine(number)
    else if (stops[to]) {
      line.tabIndex = -1
      stops[to].tabIndex = 0
      stops[to].focus()
    } else return
    event.preventDefault()
  }
}
hear({
  "ax-hover": (detail) => {
    for (const line of stops) line.classList.toggle("hovered", detail?.from !== "source" && Number(line.dataset.line) === detail?.line)
  },
})

// -- one pass of several ----------------------------------------------------------------------------

async function showPass(number) {
  const made = JSON.parse(await later(`pass-${number}`))
  made.places = { ...made.nodes }
  for (const [id, [, line]] of Object.entries(made.blocks)) made.places[id] = [null, line]
  pass = made
  if (made.legend) part("legend").innerHTML = made.legend
  const svg = made.svg || still
  graph = svg
    ? foldingGraph({
        key: `pass-${number}`,
        info: made,
        svg,
        layouts: () => later(`layouts-${number}`),
        choose: (id) => {
          const [source, target] = id.split("-")
          pickNode(target ?? source)
        },
        marks,
        alt: `Graph of the backward pass: ${made.title}`,
      })
    : null
  show({})
}

if (part("walk")) {
  part("at").oninput = () => pickStep(Number(part("at").value) - 1)
  part("before").onclick = () => pickStep(picked.step - 1)
  part("after").onclick = next
  part("play").onclick = play
}
if (part("pass")) part("pass").onchange = () => showPass(Number(part("pass").value))
if (part("filter")) part("filter").oninput = drawTable_
if (data.passes.length) await showPass(0)
else show({})
