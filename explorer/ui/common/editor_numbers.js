// Numbers in the text of an editor are dragged with the pointer, or stepped with Alt and the arrow
// keys. While that goes on only the layer shows the new number; at its end it is written into the
// text. Events named ax-drag tell the page's other parts, and come from them. Before editor.js.

const NEAR = 4 // pixels: less than that is a click
const PACE = 4 // pixels for a step

// The digits of a literal without its exponent, the decimals among them, and the exponent.
function partsOf(literal) {
  const [digits, exponent] = literal.replaceAll("_", "").toLowerCase().split("e")
  const whole = exponent === undefined && !digits.includes(".")
  return { whole, digits: +digits, decimals: digits.split(".")[1]?.length ?? 0, exponent: exponent && +exponent }
}

// How far a step goes: about a tenth of a small number, a hundredth of a larger one.
function stepOf(literal, fine) {
  const { whole, digits, decimals, exponent } = partsOf(literal)
  const size = digits ? Math.floor(Math.log10(digits)) : 0
  const finer = fine ? 1 : 0
  if (whole) return 10 ** Math.max(0, size - 1 - finer)
  const power = Math.min(size - 1, Math.max(-Math.max(1, decimals), size - 2))
  return 10 ** ((digits ? power : -Math.max(1, decimals)) - finer + (exponent ?? 0))
}

// The value as the reader would have written it: with the decimals and the exponent of the literal.
function spell(value, literal) {
  const { whole, decimals, exponent } = partsOf(literal)
  if (whole && Number.isInteger(value)) return String(value)
  const scaled = exponent === undefined ? value : value / 10 ** exponent
  let places = Math.max(1, decimals)
  while (places < 15 && Math.abs(scaled - scaled.toFixed(places)) > Math.abs(scaled) * 1e-9) places++
  return scaled.toFixed(places) + (exponent === undefined ? "" : `e${exponent}`)
}

// What to write for a number: a sign in front of it is taken along, and a negative base of a power
// is put in brackets.
function rewrite(text, { from, to }, value) {
  const written = spell(value, text.slice(from, to))
  if (value >= 0) return { from, to, written }
  if (/^\s*\*\*/.test(text.slice(to, to + 20))) return { from, to, written: `(${written})` }
  const sign = text[from - 1] === "-" && !/[\w)\]}"'.]\s*$/.test(text.slice(0, from - 1))
  return sign ? { from: from - 1, to, written: written.slice(1) } : { from, to, written }
}

// A number of the text as events name it: its line from 1, its columns in characters.
function targetOf(text, { from, to }) {
  const start = text.lastIndexOf("\n", from - 1) + 1
  const column = [...text.slice(start, from)].length
  return { line: text.slice(0, start).split("\n").length, column, end: column + to - from }
}

// The places in the text that `line`, `column` and `end` name; null where there is no such line.
function placeOf(text, { line, column, end }) {
  const lines = text.split("\n")
  if (!(line in lines) && line !== lines.length) return null
  const start = lines.slice(0, line - 1).reduce((sum, before) => sum + before.length + 1, 0)
  const characters = [...lines[line - 1]]
  const at = (count) => start + characters.slice(0, count).join("").length
  return { from: at(column), to: at(end) }
}

function listenForNumbers(editor, signal) {
  const { area } = editor
  let touch = false
  let press = null // a number pressed with the pointer
  let held = null // a number that is being changed here

  const isPlain = ({ kind, from, to }) => kind === "number" && /^[\d._]+(e[+-]?\d+)?$/i.test(editor.text.slice(from, to))
  const send = (target, value, phase) =>
    window.dispatchEvent(new CustomEvent("ax-drag", { detail: { target, value, phase } }))
  // The page's program is the one that the other parts know.
  const named = (target) => (editor.data.run ? target : { ...target, editor: editor.key })
  const isMine = ({ line, editor: key }) => line && (key ? key === editor.key : editor.data.run)
  const hold = (token) => {
    const literal = editor.text.slice(token.from, token.to)
    const value = +literal.replaceAll("_", "")
    held = { literal, start: value, raw: value, value, target: named(targetOf(editor.text, token)) }
  }
  // Move on by a number of steps; values stay on a grid through the first one.
  const move = (steps, fine) => {
    const step = stepOf(held.literal, fine)
    held.raw += steps * step
    const value = +(held.start + Math.round((held.raw - held.start) / step) * step).toPrecision(12)
    if (value === held.value) return
    held.value = value
    send(held.target, value, "move")
  }
  const release = (cancelled) => {
    press = null
    if (!held) return
    const { target, start, value } = held
    held = null
    send(target, cancelled ? start : value, "end")
  }

  // Every drag of a number of this text, also one on a leaf of the graph.
  const dragged = ({ detail }) => {
    if (!isMine(detail?.target ?? {})) return
    const { target, value, phase } = detail
    const place = placeOf(editor.text, target)
    const token = place && editor.tokens.find((t) => t.to === place.to && t.from >= place.from && isPlain(t))
    const sign = token ? editor.text.slice(place.from, token.from).trim() : null
    if (!["", "-", "+"].includes(sign)) return editor.preview(null)
    const literal = editor.text.slice(token.from, token.to)
    const same = value === +`${sign}${literal.replaceAll("_", "")}`
    const written = sign ? { ...place, written: spell(value, literal) } : rewrite(editor.text, token, value)
    const change = same ? null : written
    editor.preview(phase === "end" ? null : change)
    if (phase !== "end" || !change) return
    editor.keepEnds(() => editor.replace(change.from, change.to, change.written))
    editor.commit()
  }
  window.addEventListener("ax-drag", dragged, { signal })

  const under = (event) => {
    if (touch || held) return null
    const token = editor.tokenAt(event.clientX, event.clientY)
    return token && isPlain(token) ? token : null
  }
  area.addEventListener("pointerdown", (event) => (touch = event.pointerType === "touch"), { signal })
  area.addEventListener(
    "mousedown",
    (event) => {
      const plain = event.button === 0 && event.detail === 1 && !event.shiftKey && !event.ctrlKey && !event.metaKey
      const token = plain ? under(event) : null
      if (!token) return
      // A text area begins to select whatever its events are told, so the press places the caret.
      event.preventDefault()
      const caret = editor.offsetIn(token, event.clientX)
      area.focus({ preventScroll: true })
      area.setSelectionRange(caret, caret)
      press = { token, caret, x: event.clientX, y: event.clientY }
    },
    { signal },
  )
  window.addEventListener(
    "mousemove",
    (event) => {
      if (held && press) {
        move((event.clientX - press.x) / PACE, event.shiftKey)
        press.x = event.clientX
      } else if (press?.selects) {
        const to = document.caretPositionFromPoint?.(event.clientX, event.clientY)
        if (to?.offsetNode === area) area.setSelectionRange(Math.min(press.caret, to.offset), Math.max(press.caret, to.offset))
      } else if (press) {
        const [dx, dy] = [event.clientX - press.x, event.clientY - press.y]
        if (Math.abs(dy) >= NEAR) press.selects = true
        else if (Math.abs(dx) >= NEAR) {
          press.x += Math.sign(dx) * NEAR
          hold(press.token)
          move((event.clientX - press.x) / PACE, event.shiftKey)
          press.x = event.clientX
        }
      }
      const token = event.target === area && !event.buttons ? under(event) : null
      if (!press) area.style.cursor = token ? "ew-resize" : ""
    },
    { signal },
  )
  window.addEventListener("mouseup", () => release(false), { signal })

  area.addEventListener(
    "keydown",
    (event) => {
      const up = { ArrowUp: 1, ArrowDown: -1 }[event.key]
      if (event.key === "Escape" && held) {
        release(true)
        event.stopPropagation()
      } else if (event.altKey && up && !event.ctrlKey && !press) {
        const caret = area.selectionStart
        const token = editor.tokens.find((t) => t.from <= caret && caret <= t.to && isPlain(t))
        if (!held && !token) return
        event.preventDefault()
        if (!held) hold(token)
        move(up, event.shiftKey)
      } else if (held && !press && !["Alt", "Shift"].includes(event.key)) release(false)
    },
    { capture: true, signal },
  )
  window.addEventListener("keyup", ({ key }) => key === "Alt" && !press && release(false), { signal })
  area.addEventListener("blur", () => !press && release(false), { signal })
}
