// A slider and a field for each number. While the hand moves, the window is told by `ax-drag`; when
// it lets go, the page keeps the number. `ax-numbers` brings what a learning rate leads to. Uses
// shared.js.

const states = new WeakMap() // by the root
const POSITIONS = 1000 // of a slider
const PAUSE = 500 // ms after the last key until its number is kept
const APART = 20 // ms between the last move of a hand and its press, as in surface.js
const PATIENCE = 1500 // ms until a number that was kept and is not in force has been refused

// As Python writes it.
function toText(value) {
  const short = +value.toPrecision(6)
  if (short === 0 || (Math.abs(short) >= 1e-4 && Math.abs(short) < 1e16)) return String(short)
  const [digits, power] = short.toExponential().split("e")
  return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`
}

const clamp = (value) => Math.min(1, Math.max(0, value))
// With two digits, or more or fewer by `times` the last digit's unit.
function round(value, times = 0) {
  const unit = 10 ** (Math.floor(Math.log10(value) + 1e-9) - 1)
  return +((Math.round(value / unit) + times) * unit).toPrecision(12)
}

// Where a number lies on its slider, from 0 to 1; the number at a place; the next number.
const SCALES = {
  log: {
    place: ({ low, high }, value) => (value > 0 ? clamp(Math.log10(value / low) / Math.log10(high / low)) : 0),
    at: ({ low, high }, place) => round(low * (high / low) ** place),
    next: (row, value, way) => (value > 0 ? (Math.abs(way) > 1 ? round(value * 1.5 ** Math.sign(way)) : round(value, way)) : way > 0 ? row.low : 0),
  },
  // What is left to 1 counts: it is squared along the slider, and has two digits.
  decay: {
    place: ({ high }, value) => clamp((1 - Math.sqrt(Math.max(0, 1 - value))) / (1 - Math.sqrt(1 - high))),
    at: ({ high }, place) => +(1 - Math.max(round((1 - place * (1 - Math.sqrt(1 - high))) ** 2), 1 - high)).toPrecision(6),
    next: ({ low, high }, value, way) => {
      const left = Math.min(1, Math.max(1 - high, 1 - value))
      const step = left > 0.995 ? 0.01 : 0
      const less = step ? left - step * way : Math.abs(way) > 1 ? round(left / 1.5 ** Math.sign(way)) : round(left, -way)
      return +Math.min(high, Math.max(low, 1 - less)).toPrecision(6)
    },
  },
  whole: {
    place: ({ low, high }, value) => clamp((value - low) / (high - low)),
    at: ({ low, high }, place) => Math.round(low + place * (high - low)),
    next: ({ low, high }, value, way) => Math.min(high, Math.max(low, Math.round(value + way))),
  },
}

const drag = (target, value) => announce("ax-drag", { target, value, phase: "move" })

function makeRow(name, keep, rest) {
  const root = element("div", "slider")
  const id = `slider-${name}`
  const label = Object.assign(element("label", "", name), { htmlFor: id })
  const range = Object.assign(element("input"), { type: "range", min: 0, max: POSITIONS, step: 1, id })
  const field = Object.assign(element("input"), { type: "text", inputMode: "decimal", autocomplete: "off", spellcheck: false })
  field.setAttribute("aria-label", `${name}, number`)
  const track = element("div", "track")
  const mark = element("span", "mark")
  const row = { root, value: 0, hand: false, wrong: "" }
  let timer, patience
  track.append(range, mark)
  root.append(label, track, field)

  const place = (value) => SCALES[row.scale].place(row, value)
  const say = (sentence) => {
    root.classList.toggle("wrong", !!sentence)
    row.wrong = sentence
    row.tell?.()
  }
  row.show = (value) => {
    row.value = value
    range.value = Math.round(place(value) * POSITIONS)
    range.setAttribute("aria-valuetext", toText(value))
    const isActive = field.getRootNode().activeElement === field
    const isUnfinished = typed() === null && !row.hand
    if (!isActive || (!isUnfinished && Number(field.value) !== value)) field.value = toText(value)
  }
  row.set = (data) => {
    Object.assign(row, { scale: data.scale, low: data.low, high: data.high, kept: data.value })
    label.title = range.title = data.meaning
    row.rest(data.value)
    if (!row.hand) say("")
  }
  // The number in force, which a press may have changed.
  row.rest = (value) => {
    row.kept = value
    if (value === row.asked) row.asked = undefined
    if (!row.hand && row.asked === undefined) row.show(value)
  }
  row.point = (critical) => {
    const shown = typeof critical === "number" && critical >= row.low && critical <= row.high
    mark.hidden = !shown
    root.classList.toggle("marked", shown)
    if (shown) root.style.setProperty("--critical", place(critical))
  }
  const move = (value) => {
    say("")
    row.hand = true
    row.show(value)
    drag({ setting: name }, value)
  }
  const end = () => {
    clearTimeout(timer)
    if (!row.hand) return
    row.hand = false
    if (row.value === row.kept && row.asked === undefined) return rest()
    keep({ name, value: row.value })
    // Answers to what was kept before may still come; one that refuses this number has the last.
    row.asked = row.value
    clearTimeout(patience)
    patience = setTimeout(() => {
      row.asked = undefined
      row.rest(row.kept)
    }, PATIENCE)
  }
  const back = () => {
    clearTimeout(timer)
    say("")
    if (row.hand) (row.show(row.kept), rest())
    row.hand = false
    field.value = toText(row.kept)
  }
  const onKey = (event) => {
    if (event.key === "Escape") return back()
    const way = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key]
    const end_ = { Home: 0, End: 1 }[event.key]
    const inText = event.target === field && !["ArrowUp", "ArrowDown", "PageUp", "PageDown"].includes(event.key)
    if ((!way && end_ === undefined) || inText || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    move(end_ === undefined ? SCALES[row.scale].next(row, row.value, way) : SCALES[row.scale].at(row, end_))
    clearTimeout(timer)
    timer = setTimeout(end, PAUSE)
  }
  range.oninput = () => move(SCALES[row.scale].at(row, range.value / POSITIONS))
  range.onchange = end
  range.onblur = end
  // A letter is one of the page's own keys, which does not look for it in a field.
  range.onkeydown = (event) => {
    const { key, code } = event
    if (!/^[a-z]$/i.test(key) || event.altKey || event.ctrlKey || event.metaKey) return onKey(event)
    end()
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, code, bubbles: true, cancelable: true }))
  }

  // A number is typed: it is shown as it grows, and kept by Enter or when the field is left.
  const typed = () => {
    const text = field.value.trim().replaceAll("−", "-")
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && Number.isFinite(Number(text)) ? Number(text) : null
  }
  field.oninput = () => {
    const value = typed()
    if (value !== null) move(value)
  }
  field.onchange = () => {
    if (typed() !== null) return end()
    const text = field.value.trim()
    back()
    say(text ? `${name} takes a number, such as ${toText(row.kept)}.` : "")
  }
  field.onfocus = () => field.select()
  field.onblur = () => (end(), (field.value = toText(row.value)))
  field.onkeydown = (event) => (event.key === "Enter" ? (field.onchange(), field.select()) : onKey(event))
  return row
}

const STYLES = [["diverges", "bad"], ["oscillat", "between"], ["converges", "good"]]

// What the learning rate leads to: a word in its colour, the rate above which it is too large, and
// a sentence. What is wrong with a typed number takes their place.
function showRegime(state, { values = {}, ...outlook }) {
  Object.assign(state.outlook, outlook)
  const { regime = "", critical = null, limit = "", formula = "", sentence = "" } = state.outlook
  let wrong = ""
  for (const [name, row] of state.rows) {
    if (name in values) row.rest(values[name])
    row.point(name === "lr" ? critical : null)
    wrong ||= row.wrong
  }
  const texts = wrong ? ["", wrong, ""] : [regime, limit, sentence] // a phone shows only two
  for (const [i, node] of [...state.line.children].entries()) if (node.textContent !== texts[i]) node.textContent = texts[i]
  state.line.className = `line ${wrong ? "bad" : (STYLES.find(([word]) => regime.includes(word))?.[1] ?? "")}`
  state.line.children[1].title = formula
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".sliders")
  let state = states.get(root)
  if (!state) {
    state = { rows: new Map(), outlook: {}, line: parentElement.querySelector(".line") }
    states.set(root, state)
    state.silence = hear({ "ax-numbers": ({ sliders }) => sliders?.version === state.version && showRegime(state, sliders) })
    state.keep = (change) => setTimeout(() => state.trigger("kept", change), APART)
    state.rest = () => drag({ ahead: state.version }, null)
  }
  state.trigger = setTriggerValue
  if (state.of !== data.of) state.outlook = {} // of another problem or other settings
  state.of = data.of
  state.version = data.version
  const names = data.sliders.map(({ name }) => name)
  if (JSON.stringify(names) !== JSON.stringify([...state.rows.keys()])) {
    state.rows = new Map(names.map((name) => [name, makeRow(name, state.keep, state.rest)]))
    root.replaceChildren(...[...state.rows.values()].map((row) => row.root))
    for (const row of state.rows.values()) row.tell = () => showRegime(state, {})
  }
  for (const each of data.sliders) state.rows.get(each.name).set(each)
  showRegime(state, {})
  return () => {
    state.silence()
    states.delete(root)
  }
}
