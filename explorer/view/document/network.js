// The document of a network: a layer selected in its graph is selected in the table, and the other
// way round.

let layer = null
const picture = part("graph")?.querySelector(".canvas svg")
const marks = () => ({
  selected: layer && boxOf(layer), current: null, active: [], moving: [], sums: [],
  hidden: () => false, arriving: () => false, walking: false,
})

// The box of a layer, or a block with it.
function boxOf(name) {
  const boxes = Object.keys(data.graph.layers).filter((id) => data.graph.layers[id] === name)
  return boxes.find((id) => id in data.graph.blocks) ?? boxes[0] ?? null
}

function choose(name) {
  layer = name && name === layer ? null : name
  window.axLayer = layer
  dispatchEvent(new Event("ax-layer"))
  graph?.draw()
}

const graph = picture && data.graph
  ? foldingGraph({
      key: "network",
      info: data.graph,
      svg: new XMLSerializer().serializeToString(picture),
      layouts: () => later("layouts"),
      choose: (id) => choose(data.graph.layers[id] || null),
      marks,
      alt: `Graph of the network ${document.title}`,
    })
  : null
if (part("layers") && data.layers) {
  const select = (kind, name) => choose(kind === "layer" ? name : name.split(".").slice(0, -1).join("."))
  drawTree({ data: data.layers, parentElement: part("layers"), setTriggerValue: select })
}
choose(data.graph?.failed ?? null)
