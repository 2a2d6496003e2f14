// What all documents share: their words, their charts, and a graph whose foldings were laid out
// beforehand. `unpack` and `parsed` are the loader's.

const part = (id) => document.getElementById(id)
const data = JSON.parse(await unpack("data"))
await parsed

// What is unpacked later, once.
const unpacked = new Map()
function later(name) {
  if (!unpacked.has(name)) unpacked.set(name, part(name) ? unpack(name) : Promise.resolve(""))
  return unpacked.get(name)
}

// A word of the glossary opens its entry.
document.addEventListener("click", (event) => {
  const word = event.target.closest?.("[data-term]")
  const entry = word && data.terms[word.dataset.term]
  if (!entry) return
  const dialog = part("term")
  ;[dialog.querySelector("b").textContent, dialog.querySelector("p").textContent] = entry
  dialog.showModal()
})

// What is to be copied stands below its button.
document.addEventListener("click", (event) => {
  const copied = event.target.closest?.("[data-copy]")?.nextElementSibling
  if (!copied) return
  getSelection().selectAllChildren(copied)
  document.execCommand("copy") // a frame has no other clipboard
})

if (part("plots")) {
  drawPlots({ data: { cells: data.plots, caption: "", chooses: false }, parentElement: part("plots"), setTriggerValue: () => {} })
}

const button = (text, title, press) => Object.assign(element("button", "", text), { type: "button", title, onclick: press })

// A graph that opens and closes its blocks. `info` is what `_Pass.data` makes, `svg` the drawing as
// it opens, `layouts` gives the others; `choose` is called with what is pressed, "" for nothing, and
// `marks` says what is highlighted, by the ids of the pass.
function foldingGraph({ key, info, svg, layouts, choose, marks, alt }) {
  info = { boxes: {}, factored: "", left: "", places: {}, notes: {}, colours: {}, ...info }
  const foot = part("foot")
  const open = info.unfolded.map((blocks) => new Set(blocks))
  const svgs = [svg]
  let at = 0
  let said = "" // instead of what can be pressed

  const around = (id) => info.blocks[id]?.[2] ?? info.around[id] ?? []
  // The id of what is drawn for a node: itself, its leaf, or the block that hides it.
  const place = (id) => {
    const own = info.boxes[id] ?? id
    return around(own).find((block) => !open[at].has(block)) ?? own
  }
  const isOpen = (block) => open[at].has(block) && around(block).every((one) => open[at].has(one))

  // Of the layouts that show what is asked for, the one that is most like what is wanted.
  function nearest(wanted, shows) {
    const apart = (blocks) => [...blocks].filter((b) => !wanted.has(b)).length + [...wanted].filter((b) => !blocks.has(b)).length
    const found = open.map((blocks, i) => [apart(blocks), i]).filter(([, i]) => shows(open[i]))
    return found.length ? found.reduce((a, b) => (b[0] < a[0] ? b : a))[1] : null
  }

  async function go(index) {
    if (index && svgs.length < 2) svgs.push(...(await layouts()).split("\n"))
    at = index
    said = ""
    if (info.legends) part("legend").innerHTML = info.legends[at]
    draw()
  }

  async function unfold(blocks) {
    const index = nearest(new Set([...open[at], ...blocks]), (set) => blocks.every((b) => set.has(b)))
    if (index !== null) return go(index)
    said = `The inside of ${info.blocks[blocks.at(-1)][0]} is not in this file.`
    drawFoot()
  }

  async function close(block) {
    const inside = (one) => one === block || around(one).includes(block)
    const wanted = new Set([...open[at]].filter((one) => !inside(one)))
    const index = nearest(wanted, (set) => !set.has(block) && around(block).every((b) => set.has(b)))
    if (index !== null) await go(index)
  }

  async function press(id) {
    if (!(id in info.blocks)) choose(id)
    else if (isOpen(id)) await close(id)
    else await unfold([...around(id), id])
  }

  // Shows a node or block, wherever it is hidden.
  async function find(id) {
    if (place(id) !== (info.boxes[id] ?? id)) await unfold(around(info.boxes[id] ?? id))
    choose(id in info.blocks ? "" : id)
    if (id in info.blocks) draw(id)
  }

  function drawFoot() {
    const every = info.unfolded.findIndex((blocks) => blocks.length === Object.keys(info.blocks).length)
    const closed = info.unfolded.findIndex((blocks) => !blocks.length)
    foot.replaceChildren()
    const left = info.left ? element("span", "ax-note", info.left) : ""
    if (!Object.keys(info.blocks).length) return foot.append(said, left)
    const words = said || "Press a block to open it, and the title of an open one to close it. Drag to move the graph."
    if (open[at].size && closed >= 0) foot.append(button("Collapse all", "Draws every block as one box", () => go(closed)))
    if (every > 0 && at !== every) foot.append(button("Open all", "Draws every operation", () => go(every)))
    foot.append(element("span", "ax-note", words), left)
  }

  function draw(selected) {
    const own = place
    const shown = (id) => (id === null || id === undefined ? null : own(id))
    const raw = marks()
    const edge = (id) => id.split("-").map(own).join("-")
    const within = (id) => new Set(id.split("-")).size < 2
    const drawing = svgs[at]
    const ids = new Set([...drawing.matchAll(/<g id="(\w+)" class="node/g)].map(([, id]) => id))
    const active = raw.active.map(edge).filter((id) => !within(id))
    drawGraph({
      data: {
        svg: drawing,
        factored: at ? "" : info.factored,
        digest: `${key}.${at}`,
        layout: `${key}.${at}`,
        height: "var(--ax-graph-height)",
        alt,
        still: false,
        small: false,
        walking: raw.walking,
        selected: selected ?? shown(raw.selected),
        current: shown(raw.current),
        active,
        hidden: [...ids].filter((id) => raw.hidden(id)),
        arriving: [...ids].filter((id) => raw.arriving(id)),
        moving: raw.moving.map((move) => ({ ...move, edge: edge(move.edge) })).filter((move) => !within(move.edge)),
        sums: raw.sums.map((sum) => ({ ...sum, node: own(sum.node) })).filter((sum) => ids.has(sum.node) && !(sum.node in info.blocks)),
        places: info.places,
        notes: info.notes,
        colours: info.colours,
        draggable: {},
      },
      parentElement: part("graph"),
      setTriggerValue: (_, id) => press(id),
    })
    drawFoot()
  }

  part("names")?.replaceChildren(...Object.values(info.names).map((name) => Object.assign(element("option"), { value: name })))
  const byName = new Map(Object.entries(info.names).map(([id, name]) => [name, id]))
  if (part("find")) {
    part("find").oninput = () => byName.has(part("find").value) && find(byName.get(part("find").value))
    part("find").onchange = () => {
      const typed = part("find").value.trim().toLowerCase()
      const name = typed && [...byName.keys()].find((one) => one.toLowerCase().includes(typed))
      if (name) return find(byName.get(name))
      said = typed && "Nothing in this graph has that name."
      drawFoot()
    }
  }
  return { draw, find }
}
