// A click on a line number of the program editor reports that line, counted from 1.
// The numbers are a background of the text area (see editor.py), so there is nothing to click on
// but the text area itself.

export default function (component) {
  const { data, setTriggerValue } = component
  const clicked = (event) => {
    const area = event.target.closest?.(`.st-key-${data.editor} textarea`)
    if (!area) return
    const r = area.getBoundingClientRect()
    if (event.clientX - r.left > data.gutter) return
    const line = Math.floor((event.clientY - r.top + area.scrollTop - data.top) / data.height) + 1
    if (line >= 1 && line <= area.value.split("\n").length) setTriggerValue("line", line)
  }
  document.addEventListener("click", clicked)
  return () => document.removeEventListener("click", clicked)
}
