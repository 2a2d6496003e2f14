// Shows images in a row that wraps. They are replaced only when their digest changes; marks and
// the selection are laid over them, so scrolling survives a choice. shared.js comes before it.

const drawn = new WeakMap()

// The name of a layer, "block1.conv1", may wrap after a dot; a second line is quieter, does not
// wrap, and shows the end of a name that is too long: there the names of layers differ.
function caption(label) {
  const node = element("figcaption")
  for (const [i, line] of label.split("\n").entries()) {
    const words = element(i ? "small" : "span")
    const parts = line.split(/(?<=\.)/).flatMap((part) => [part, document.createElement("wbr")])
    words.append(...(i ? [element("bdi", "", line)] : parts))
    node.append(words)
  }
  return node
}

function frame(picture, choose) {
  const figure = element("figure")
  figure.dataset.id = picture.id
  figure.style.width = `${picture.width}px`
  figure.style.setProperty("--width", figure.style.width)
  figure.style.flexGrow = picture.width
  const place = element(choose ? "button" : "div", "place")
  place.style.maxWidth = figure.style.width
  const image = element("img", picture.smooth ? "smooth" : "")
  image.src = picture.src
  image.alt = picture.alt
  if (picture.title) place.title = picture.title
  place.append(image, element("div", "marks"))
  figure.append(place)
  if (picture.label) figure.append(caption(picture.label))
  return figure
}

function mark([left, top, width, height]) {
  const box = element("i")
  const sides = { left, top, width, height }
  for (const [side, share] of Object.entries(sides)) box.style[side] = `${100 * share}%`
  return box
}

// Scrolls a film sideways, and nothing else, until the figure is seen.
function show(root, figure) {
  const left = figure.offsetLeft - root.offsetLeft
  const right = left + figure.offsetWidth
  if (left < root.scrollLeft) root.scrollLeft = left - 8
  else if (right > root.scrollLeft + root.clientWidth) root.scrollLeft = right - root.clientWidth + 8
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".frames")
  root.classList.toggle("arrows", data.arrows)
  root.classList.toggle("film", data.film)
  if (drawn.get(parentElement) !== data.digest) {
    const held = root.getRootNode().activeElement?.closest?.("figure")?.dataset.id
    root.replaceChildren(...data.pictures.map((picture) => frame(picture, data.choose)))
    drawn.set(parentElement, data.digest)
    const again = held && [...root.children].find((figure) => figure.dataset.id === held)
    again?.querySelector("button")?.focus()
  }
  for (const figure of root.children) {
    const marks = data.marks[figure.dataset.id] ?? []
    figure.querySelector(".marks").replaceChildren(...marks.map(mark))
    const on = data.selected.includes(figure.dataset.id)
    figure.classList.toggle("selected", on)
    if (data.choose) figure.querySelector("button").setAttribute("aria-pressed", on)
    if (on && data.film) show(root, figure)
  }
  root.onclick = (event) => {
    const place = event.target.closest("button.place")
    if (!place) return
    const box = place.querySelector("img").getBoundingClientRect()
    const keyboard = event.detail === 0 // no place was pointed at: take the middle
    setTriggerValue("clicked", {
      id: place.parentElement.dataset.id,
      x: keyboard ? 0.5 : (event.clientX - box.left) / box.width,
      y: keyboard ? 0.5 : (event.clientY - box.top) / box.height,
    })
  }
  return () => drawn.delete(parentElement)
}
