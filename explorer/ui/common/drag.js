// Follows the hand: of what is reported as `ax-drag` the newest is sent, one at a time, and the next
// one when the numbers that came back as `ax-numbers` have been painted.

const LOST = 3000 // ms after which an answer is no longer expected
const states = new WeakMap()

const sameTarget = (a, b) => JSON.stringify(a.target) === JSON.stringify(b.target)

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  let state = states.get(parentElement)
  if (!state) {
    state = { queue: [], waiting: null, count: 0 }
    states.set(parentElement, state)
    state.note = parentElement.querySelector("div")
    state.next = () => {
      clearTimeout(state.lost)
      state.waiting = null
      const event = state.queue.shift()
      if (!event) return
      const { target, value, phase } = event
      if (phase === "end") state.note.textContent = ""
      state.waiting = `${Date.now()}-${(state.count += 1)}`
      state.lost = setTimeout(state.next, LOST)
      state.send({ target, value, phase, number: state.waiting })
    }
    state.heard = ({ detail }) => {
      const last = state.queue.at(-1)
      const [isEnd, value] = [detail.phase === "end", JSON.stringify(detail.value)]
      // The last frame is that of the end: where it is the beginning, too, as after Escape, the
      // page has no reason to draw anything again.
      if (isEnd && state.at !== undefined && state.at !== value) state.heard({ detail: { ...detail, phase: "move" } })
      else if (!isEnd && last?.phase === "move" && sameTarget(last, detail)) state.queue.pop()
      state.at = isEnd ? undefined : value
      state.queue.push(detail)
      if (!state.waiting) state.next()
    }
    window.addEventListener("ax-drag", state.heard)
    // Buttons in markup, with a whole program: to put in (`apply_button` in errors.py), or to copy.
    state.pressed = ({ target }) => {
      const { fix, copy } = target.closest?.("button")?.dataset ?? {}
      if (fix !== undefined) window.dispatchEvent(new CustomEvent("ax-replace", { detail: { text: fix } }))
      // Browsers without a secure connection have no clipboard: there the text can be selected.
      if (copy !== undefined) navigator.clipboard?.writeText(copy).then(() => (target.textContent = "Copied"))
    }
    document.addEventListener("click", state.pressed)
  }
  state.send = (event) => setTriggerValue("moved", event)
  if (data.number && data.number === state.waiting) {
    clearTimeout(state.lost)
    state.note.textContent = data.note
    if (Object.keys(data.numbers).length) window.dispatchEvent(new CustomEvent("ax-numbers", { detail: data.numbers }))
    requestAnimationFrame(() => state.next())
  }
  return () => {
    clearTimeout(state.lost)
    window.removeEventListener("ax-drag", state.heard)
    document.removeEventListener("click", state.pressed)
    states.delete(parentElement)
  }
}
