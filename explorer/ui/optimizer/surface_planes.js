// The choice of the plane, where there are more than two numbers.

function makeSelect(label, options, chosen, title) {
  const root = element("label", "", label)
  const select = element("select")
  select.append(...options.map(([value, text]) => new Option(text, value, false, value === chosen)))
  select.title = title
  root.append(select)
  return { root, select }
}

function showPlanes(root, planes, choose) {
  const shown = JSON.stringify(planes)
  if (root.dataset.shown === shown) return
  const focused = [...root.querySelectorAll("select")].indexOf(root.getRootNode().activeElement)
  root.dataset.shown = shown
  root.replaceChildren()
  if (!planes) return
  const kind = makeSelect("Plane through", planes.kinds, planes.kind, "The plane that the loss is shown in")
  root.append(kind.root)
  const selects = { kind: kind.select }
  if (planes.kind === "elements") {
    const names = planes.names.map((name) => [name, name])
    for (const [key, label] of [["across", "across"], ["up", "up"]]) {
      const title = `The parameter along this axis; all others stay as they are`
      const made = makeSelect(label, names.filter(([name]) => key === "across" || name !== planes.across), planes[key], title)
      selects[key] = made.select
      root.append(made.root)
    }
  }
  const tell = () => {
    const [across, up] = [selects.across?.value ?? planes.names[0], selects.up?.value ?? planes.names[1]]
    choose({ kind: selects.kind.value, across, up: up === across ? planes.names.find((name) => name !== across) : up })
  }
  if (planes.kind === "random") {
    const again = element("button", "", "Another two")
    again.type = "button"
    again.title = "Other random directions"
    again.onclick = () => choose({ kind: "random" })
    root.append(again)
  }
  for (const select of Object.values(selects)) select.onchange = tell
  ;[...root.querySelectorAll("select")][focused]?.focus()
}
