// The document of a training run or of an image: its charts.

if (part("plots")) {
  drawPlots({ data: { cells: data.plots, caption: "", chooses: false }, parentElement: part("plots"), setTriggerValue: () => {} })
}
