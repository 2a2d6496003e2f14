// Follows the hand: of what is reported as `ax-drag` the newest is sent, one at a time, and the next
// one when the numbers that came back as `ax-numbers` have been painted.

const LOST = 3000 // ms after which a frame without an answer is asked again
const AGAIN = 1000 // the same for the end
const TIMES = 20 // so many times at most
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
      const number = `${Date.now()}-${(state.count += 1)}`
      const ask = () => window.axIsLeaving?.() || state.send({ target, value, phase, number })
      // Streamlit drops what is asked in the moment in which the whole page is run again, which may
      // take seconds on a busy server. So it is asked again while there is no answer: the end
      // always, a frame if the hand has not moved on. It is done once.
      let times = 0
      const again = () => {
        const isOld = times && phase !== "end" && state.queue.length
        if (isOld || times === TIMES) return state.next()
        times += 1
        state.lost = setTimeout(again, phase === "end" ? AGAIN : LOST)
        ask()
      }
      state.waiting = number
      state.asked = event
      again()
    }
    state.heard = (detail) => {
      clearTimeout(state.later)
      const last = state.queue.at(-1)
      const [isEnd, value] = [detail.phase === "end", JSON.stringify(detail.value)]
      // The last frame is that of the end: where it is the beginning, too, as after Escape, the
      // page has no reason to draw anything again.
      if (isEnd && state.at !== undefined && state.at !== value) state.heard({ ...detail, phase: "move" })
      else if (!isEnd && last?.phase === "move" && sameTarget(last, detail)) state.queue.pop()
      state.at = isEnd ? undefined : value
      state.queue.push(detail)
      if (!state.waiting) state.next()
    }
    // What lets go may press a button of the page as well: Streamlit runs only one of two fragments
    // that are asked at once, so the end is told a moment later.
    const listen = (detail) => (detail.phase === "end" ? setTimeout(() => state.heard(detail)) : state.heard(detail))
    state.silence = hear({ "ax-drag": listen })
    // Buttons in markup, with a whole program: to put in (fix.py), or to copy.
    state.pressed = ({ target }) => {
      const { fix, copy, ...change } = target.closest?.("button")?.dataset ?? {}
      if (fix !== undefined) announce("ax-replace", { text: JSON.parse(fix), run: true, change })
      // Browsers without a secure connection have no clipboard: there the text can be selected.
      if (copy !== undefined) navigator.clipboard?.writeText(copy).then(() => (target.textContent = "Copied"))
    }
    document.addEventListener("click", state.pressed)
  }
  state.send = (event) => setTriggerValue("moved", event)
  if (data.number && data.number === state.waiting) {
    clearTimeout(state.lost)
    state.note.textContent = data.note
    // It failed, perhaps because the server was busy: the hand rests there and expects it.
    const { asked } = state
    if (data.again !== null && asked.phase === "move" && !state.queue.length)
      state.later = setTimeout(() => state.heard(asked), 1000 * data.again)
    if (Object.keys(data.numbers).length) announce("ax-numbers", data.numbers)
    requestAnimationFrame(() => state.next())
  }
  return () => {
    clearTimeout(state.lost)
    clearTimeout(state.later)
    state.silence()
    document.removeEventListener("click", state.pressed)
    states.delete(parentElement)
  }
}
