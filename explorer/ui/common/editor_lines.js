// The lines of the program editor, counted from 1: some are marked, and a click on a line's number
// reports it. Numbers and marks are backgrounds of the text area (see editor.py), so there is
// nothing to click on but the text area itself.

// The first of the marks lies above the others, and all of them above the numbers;
// the rule above that of style.css.
function background({ editor, marks, top, height }) {
  const images = [...marks.map(([colour]) => `linear-gradient(${colour}, ${colour})`), "var(--ax-gutter)"]
  const places = [...marks.map(([, line]) => `0 ${top + (line - 1) * height}px`), `0 ${top}px`]
  const sizes = [...marks.map(() => `100% ${height}px`), "auto"]
  return `.stApp .st-key-${editor} textarea { background-image: ${images}; background-position: ${places}; background-size: ${sizes}; }`
}

export default function (component) {
  const { data, setTriggerValue } = component
  const style = document.head.appendChild(document.createElement("style"))
  style.textContent = background(data)
  const clicked = (event) => {
    const area = event.target.closest?.(`.st-key-${data.editor} textarea`)
    if (!area) return
    const r = area.getBoundingClientRect()
    if (event.clientX - r.left > data.gutter) return
    const line = Math.floor((event.clientY - r.top + area.scrollTop - data.top) / data.height) + 1
    if (line >= 1 && line <= area.value.split("\n").length) setTriggerValue("line", line)
  }
  document.addEventListener("click", clicked)
  return () => {
    document.removeEventListener("click", clicked)
    style.remove()
  }
}
