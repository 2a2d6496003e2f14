// Paints a step of the backward pass on the graph; it comes before graph.js, which calls it after
// every change of the marks. `box.svg` is the drawing, with nodes `g.node` and edges `g.edge` by
// id; `data.hidden` and `data.moving` are those of `Marks` in graph.py.

function paintWalk(box, data) {}
