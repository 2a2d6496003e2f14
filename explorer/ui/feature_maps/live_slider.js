// A slider that sends the newest number while the hand moves it: one at a time, the next when the
// page has drawn the last. shared.js and address.js come before it.

const LOST = 3000 // ms after which an answer is no longer expected
const AGAIN = 500 // ms; Streamlit writes its widgets' part of the address without ours
const states = new WeakMap() // by the root

function build(root) {
  const label = Object.assign(element("label"), { htmlFor: "range" })
  const range = Object.assign(element("input"), { type: "range", id: "range" })
  const output = Object.assign(element("output"), { htmlFor: "range" })
  root.replaceChildren(label, range, output)
  const state = { label, range, output, waiting: "", next: null, count: 0 }
  state.show = (value) => {
    const text = `${+value.toFixed(4)}${state.unit}`.replace("-", "−")
    output.textContent = text
    range.setAttribute("aria-valuetext", text)
  }
  state.send = () => {
    clearTimeout(state.lost)
    state.waiting = ""
    if (state.next === null) return
    const value = state.next
    state.next = null
    state.waiting = `${Date.now()}-${(state.count += 1)}`
    state.lost = setTimeout(state.send, LOST)
    state.trigger("moved", { value, number: state.waiting })
  }
  range.oninput = () => {
    state.next = Number(range.value)
    state.show(state.next)
    if (!state.waiting) state.send()
  }
  const remember = () => state.keep(Number(range.value))
  range.onchange = remember
  state.timer = setInterval(remember, AGAIN)
  return state
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".live")
  let state = states.get(root)
  if (!state) states.set(root, (state = build(root)))
  state.trigger = setTriggerValue
  state.unit = data.unit
  state.keep = (value) => keepInAddress({ [data.name]: value === data.start ? null : String(value) })
  state.label.textContent = data.label
  state.label.title = state.range.title = data.help
  for (const [side, value] of [["min", data.low], ["max", data.high], ["step", data.step]]) state.range[side] = value
  if (data.number && data.number === state.waiting) requestAnimationFrame(state.send)
  else if (!state.waiting) {
    state.range.value = data.value
    state.show(data.value)
  }
  return () => {
    clearTimeout(state.lost)
    clearInterval(state.timer)
    keepInAddress({ [data.name]: null })
    states.delete(root)
  }
}
