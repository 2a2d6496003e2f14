// An editor of programs: a native text area with its text in colour on a layer behind it. The text
// area keeps caret, selection and undo, and Streamlit reads it; the layer shows numbers of lines,
// marks, and values at the ends of lines. Without this script the plain text remains.

// -- tokens ---------------------------------------------------------------------------------------

// The tokens of a Python program, of any text: a string that nothing ends goes on to the end of its
// line, or of the text.

const KEYWORDS = new Set(
  ("and as assert async await break class continue def del elif else except finally for from global " +
    "if import in is lambda nonlocal not or pass raise return try while with").split(" "),
)
const CONSTANTS = new Set(["True", "False", "None"])
const MODULES = new Set(["torch", "nn", "F", "optim", "np", "math", "plt"])

const long = (quote) => String.raw`${quote}(?:\\[^]|[^\\])*?(?:${quote}|$)`
const short = (quote) => String.raw`${quote}(?:\\[^]|[^\\\n${quote}])*${quote}?`
const digits = String.raw`\d(?:_?\d)*`
const TOKEN = new RegExp(
  [
    String.raw`(?<comment>#[^\n]*)`,
    `(?<string>(?:[uU]|[bBfF][rR]?|[rR][bBfF]?)?(?:${['"""', "'''"].map(long).join("|")}|${['"', "'"].map(short).join("|")}))`,
    `(?<number>0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+` +
      String.raw`|(?:${digits}(?:\.(?:${digits})?)?|\.${digits})(?:[eE][+-]?${digits})?[jJ]?)`,
    String.raw`(?<name>[\p{ID_Start}_]\p{ID_Continue}*)`,
  ].join("|"),
  "gu",
)
const CALL = /\s*\(/y

// What a name is, by itself, the token before it and what stands around it.
function nameKind(text, { from, to }, before) {
  const name = text.slice(from, to)
  if (KEYWORDS.has(name)) return "keyword"
  if (CONSTANTS.has(name)) return "constant"
  if (text[from - 1] === "." && before?.kind === "decorator") return "decorator"
  if (text[from - 1] === "@" && !text.slice(text.lastIndexOf("\n", from) + 1, from - 1).trim()) return "decorator"
  if (before?.kind === "keyword" && /^(def|class)$/.test(text.slice(before.from, before.to))) return "function"
  CALL.lastIndex = to
  if (CALL.test(text)) return "function"
  return MODULES.has(name) && text[from - 1] !== "." ? "module" : "name"
}

// Places count as JavaScript's strings do, `to` exclusive.
function tokens(text) {
  const all = []
  for (const match of text.matchAll(TOKEN)) {
    const { comment, string, number } = match.groups
    const kind = comment ? "comment" : string ? "string" : number ? "number" : "name"
    const token = { kind, from: match.index, to: match.index + match[0].length }
    if (kind === "name") token.kind = nameKind(text, token, all.at(-1))
    all.push(token)
  }
  markLocals(text, all)
  return all
}

// What stands in a function or a class: names there may mean something else than outside.
function markLocals(text, all) {
  let outer = Infinity // the column of the `def` or `class`
  let [end, column] = [0, 0]
  for (const token of all) {
    const before = text.slice(end, token.from)
    if (end === 0 || before.includes("\n")) {
      column = text.slice(end + before.lastIndexOf("\n") + 1, token.to).search(/\S/)
      if (column <= outer) outer = Infinity
    }
    end = token.to
    if (token.kind === "keyword" && /^(def|class)$/.test(text.slice(token.from, token.to))) outer = Math.min(outer, column)
    token.local = column >= outer
  }
}

// -- keys -----------------------------------------------------------------------------------------

// What the keys do beyond what they do in any text area: they indent, keep the indentation, write
// brackets in pairs and make comments.

const INDENT = "    "
const PAIRS = { "(": ")", "[": "]", "{": "}", '"': '"', "'": "'" }

// The lines of the selection: where they start and end, and themselves.
function selectedLines({ area, text }) {
  const from = text.lastIndexOf("\n", area.selectionStart - 1) + 1
  const last = Math.max(area.selectionStart, area.selectionEnd - (area.selectionEnd > from ? 1 : 0))
  const end = text.indexOf("\n", area.selectionStart === area.selectionEnd ? area.selectionEnd : last)
  const to = end < 0 ? text.length : end
  return { from, to, lines: text.slice(from, to).split("\n") }
}

// Replace each line of the selection; a caret stays where it was in its line.
function changeLines(editor, change) {
  const { from, to, lines } = selectedLines(editor)
  const { selectionStart, selectionEnd } = editor.area
  const changed = lines.map(change).join("\n")
  const caret = Math.max(from, selectionStart + changed.length - (to - from))
  const select = selectionStart === selectionEnd ? [caret, caret] : [from, from + changed.length]
  editor.edit(from, to, changed, ...select)
}

function indent(editor) {
  const { area, text } = editor
  const { selectionStart: start, selectionEnd: end } = area
  if (start !== end) return changeLines(editor, (line) => (line.trim() ? INDENT + line : line))
  const column = start - (text.lastIndexOf("\n", start - 1) + 1)
  editor.edit(start, end, INDENT.slice(column % INDENT.length))
}

function dedent(editor) {
  changeLines(editor, (line) => line.replace(/^(\t| {1,4})/, ""))
}

function comment(editor) {
  const { lines } = selectedLines(editor)
  const some = lines.filter((line) => line.trim())
  if (some.length && some.every((line) => /^\s*#/.test(line))) {
    return changeLines(editor, (line) => line.replace(/^(\s*)# ?/, "$1"))
  }
  const depth = Math.min(...(some.length ? some : lines).map((line) => line.search(/\S|$/)))
  changeLines(editor, (line) =>
    line.trim() || lines.length === 1 ? `${line.slice(0, depth)}# ${line.slice(depth)}` : line,
  )
}

// A new line begins as far in as this one; further in after a colon.
function newLine(editor) {
  const { area, text } = editor
  const start = text.lastIndexOf("\n", area.selectionStart - 1) + 1
  const before = text.slice(start, area.selectionStart)
  const comment = editor.tokens.find(({ kind, to }) => kind === "comment" && to > start)
  const code = comment && comment.from >= start ? before.slice(0, comment.from - start) : before
  const further = code.trimEnd().endsWith(":") ? INDENT : ""
  editor.edit(area.selectionStart, area.selectionEnd, `\n${before.match(/^[ \t]*/)[0]}${further}`)
}

// Returns whether a bracket or a quote was written, or what closes it passed over.
function writePair(editor, key) {
  const { area, text } = editor
  const { selectionStart: start, selectionEnd: end } = area
  const [before, after] = [text[start - 1] ?? "", text[end] ?? ""]
  const closer = PAIRS[key]
  if (start !== end) {
    if (!closer) return false
    editor.edit(start, end, key + text.slice(start, end) + closer, start + 1, end + 1)
    return true
  }
  if (after === key && Object.values(PAIRS).includes(key)) {
    area.setSelectionRange(start + 1, start + 1)
    return true
  }
  const token = editor.tokens.find(({ from, to }) => from < start && start < to)
  const quoted = closer === key && (/[\w"'\\]/.test(before) || !/^[\s)\]},:]?$/.test(after))
  if (!closer || /^[\w"'(]$/.test(after) || quoted) return false
  if (token && ["string", "comment"].includes(token.kind)) return false
  editor.edit(start, end, key + closer, start + 1, start + 1)
  return true
}

function deletePair(editor) {
  const { area, text } = editor
  const { selectionStart: start, selectionEnd: end } = area
  if (start !== end || !start || PAIRS[text[start - 1]] !== text[start]) return false
  editor.edit(start - 1, start + 1, "")
  return true
}

// Whether the key was one of the editor's own.
function pressKey(editor, event) {
  const { key, shiftKey } = event
  if (event.ctrlKey || event.metaKey) {
    if (key !== "/") return false
    comment(editor)
    return true
  }
  if (event.altKey) return false
  if (key === "Tab") return !editor.leaving && ((shiftKey ? dedent : indent)(editor), true)
  if (key === "Enter") return !shiftKey && (newLine(editor), true)
  return key === "Backspace" ? deletePair(editor) : writePair(editor, key)
}

// Escape, then Tab leaves; so does a Tab after the one that came here.
function listenForKeys(editor, signal) {
  let tabbed = false
  const { area } = editor
  window.addEventListener("keydown", (event) => (tabbed = event.key === "Tab"), { capture: true, signal })
  window.addEventListener("pointerdown", () => (tabbed = false), { capture: true, signal })
  area.addEventListener("focus", () => (editor.leaving = tabbed), { signal })
  area.addEventListener("pointerdown", () => (editor.leaving = false), { signal })
  area.addEventListener(
    "keydown",
    (event) => {
      if (!event.isTrusted || event.isComposing) return
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return editor.run()
      if (pressKey(editor, event)) event.preventDefault()
      if (!["Tab", "Shift"].includes(event.key)) editor.leaving = event.key === "Escape"
    },
    { signal },
  )
}

// -- numbers --------------------------------------------------------------------------------------

// Numbers in the text are dragged with the pointer, or stepped with Alt and the arrow keys. While that
// goes on only the layer shows the new number; at its end it is written into the text. Events named
// ax-drag tell the page's other parts, and come from them.

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
  const send = (target, value, phase) => announce("ax-drag", { target, value, phase })
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

// -- the editor -----------------------------------------------------------------------------------

const LINE = 20 // pixels, as in editor.css
const TOP = 8
const GUTTER = 36
const PAUSE = 300 // milliseconds without a key until what was typed is run
const MARK = /^#\s?%%(?!%)/ // begins a cell, see explorer/program/notebook.py
const LIKE_PASTING = 20 // lines; insertText writes each by itself, which takes seconds for thousands

// By the key of the text area's container.
const editors = new Map()

// Write into the text area as if it was typed, so that it can be undone. It must have the focus.
function write(area, text) {
  const { value, selectionStart: start, selectionEnd: end } = area
  const expected = value.slice(0, start) + text + value.slice(end)
  if (text.split("\n").length > LIKE_PASTING) {
    const html = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    if (document.execCommand("insertHTML", false, html)) {
      if (area.value === expected) return
      document.execCommand("undo")
      area.setSelectionRange(start, end)
    }
  }
  document.execCommand(text ? "insertText" : "delete", false, text)
  if (area.value === expected) return
  area.setRangeText(text, start, end, "end") // no undo, but the text
  area.dispatchEvent(new Event("input", { bubbles: true }))
}

const isIn = (r, x) => r.width > 0 && r.left <= x && x <= r.right

function makeEditor(key) {
  const editor = { key, area: null, text: "", shown: "", tokens: [], starts: [], data: {}, lines: [], change: null, hover: null, ends: {}, leaving: false, applied: null }
  const layer = document.createElement("div")
  layer.className = "ax-code"
  layer.setAttribute("aria-hidden", "true")
  const lines = layer.appendChild(document.createElement("div"))
  lines.className = "lines"
  const bar = document.createElement("div")
  bar.className = "ax-applied"
  bar.hidden = true
  const said = bar.appendChild(document.createElement("span"))
  said.setAttribute("role", "status")
  const undo = bar.appendChild(document.createElement("button"))
  Object.assign(undo, { type: "button", className: "ax-apply", textContent: "Undo change" })
  const rows = []
  let stop = null
  let timer = null
  let composing = false

  // -- the layer --

  const read = () => {
    const { area, change } = editor
    if (editor.text !== area.value) {
      editor.text = area.value
      editor.lines = editor.text.split("\n")
    }
    const shown = change ? editor.text.slice(0, change.from) + change.written + editor.text.slice(change.to) : editor.text
    if (shown !== editor.shown || !editor.starts.length) {
      editor.shown = shown
      editor.shownTokens = tokens(shown)
      editor.starts = [0, ...[...shown.matchAll(/\n/g)].map(({ index }) => index + 1)]
    }
    editor.tokens = change ? tokens(editor.text) : editor.shownTokens
  }

  // Nodes are used again and none is removed: that would end what one Ctrl+Z undoes.
  const put = (node, kind, text) => {
    if (node.className !== kind) node.className = kind
    if (node.firstChild.data !== text) node.firstChild.data = text
  }

  const addSpan = (parent) => {
    const span = parent.appendChild(document.createElement("span"))
    span.append("")
    return span
  }

  const addRow = () => {
    const node = lines.appendChild(document.createElement("div"))
    const code = node.appendChild(document.createElement("span"))
    code.className = "code"
    rows.push({ node, code, spans: [], end: addSpan(node) })
    return rows.at(-1)
  }

  const colourName = (span, token) => {
    const name = token?.kind === "name" && !token.local && editor.shown[token.from - 1] !== "." ? span.textContent : null
    const colours = editor.data.colours ?? {}
    const index = Object.hasOwn(colours, name) ? colours[name] : undefined
    if (span.colour !== index) underlineName(span, index)
    span.colour = index
  }

  // Line `n`, from 0: its text in colours, and the value at its end.
  const drawLine = ({ node, code, spans, end }, n) => {
    const { area, shown, starts, data, hover } = editor
    const [from, to] = [starts[n], (starts[n + 1] ?? shown.length + 1) - 1]
    let [at, used] = [from, 0]
    const add = (kind, upTo, token) => {
      if (upTo === at) return
      spans[used] ??= addSpan(code)
      put(spans[used], kind, shown.slice(at, upTo))
      colourName(spans[used], token)
      spans[used++].token = token
      at = upTo
    }
    for (const token of editor.shownTokens) {
      if (token.to <= from) continue
      if (token.from >= to) break
      add("", Math.max(token.from, from), null)
      add(token.kind, Math.min(token.to, to), token)
    }
    add("", to, null)
    for (const span of spans.slice(used)) {
      put(span, "", "")
      colourName(span, null)
    }
    const kinds = Object.keys(data.marks ?? {}).filter((kind) => data.marks[kind] === n + 1)
    if (MARK.test(shown.slice(from, to))) kinds.push("cell")
    if (isApplied()) kinds.push(...["added", "removed"].filter((kind) => editor.applied[kind].has(n + 1)))
    node.className = ["line", ...kinds, ...(hover === n + 1 ? ["hover"] : [])].join(" ")
    node.dataset.line = n + 1
    Object.assign(node.style, { top: `${TOP + n * LINE}px`, width: `${area.clientWidth + area.scrollLeft}px`, display: "" })
    put(end, "end", endOf(n + 1))
  }

  // What was applied is marked for as long as the text is what it made of it, also after undo and redo.
  const isApplied = () => editor.applied?.after === editor.text

  editor.paint = () => {
    const { area } = editor
    if (!area) return
    read()
    if (bar.hidden === isApplied()) bar.hidden = !bar.hidden
    const bottom = area.scrollTop + area.clientHeight
    const first = Math.max(0, Math.floor((area.scrollTop - TOP) / LINE))
    let last = Math.min(editor.starts.length, Math.ceil((bottom - TOP) / LINE))
    // The empty line after the last is not shown in part.
    if (last > 1 && editor.starts[last - 1] === editor.shown.length && TOP + last * LINE > bottom) last--
    editor.first = first
    for (let n = first; n < last; n++) drawLine(rows[n - first] ?? addRow(), n)
    for (const { node } of rows.slice(last - first)) node.style.display = "none"
    // A part of a number would be another number.
    const ends = rows.slice(0, last - first).map(({ end }) => end)
    for (const end of ends.filter((end) => end.scrollWidth > end.clientWidth)) put(end, "end", "…")
    // Without the scrollbars, where these take room: the layer then scrolls as far as the text area.
    Object.assign(layer.style, { width: `${area.clientWidth}px`, height: `${area.clientHeight}px` })
    Object.assign(lines.style, { width: `${area.scrollWidth}px`, height: `${area.scrollHeight}px` })
    layer.scrollTo(area.scrollLeft, area.scrollTop) // a transform would not round as scrolling does
  }

  // Show a number that is not in the text yet, or the text as it is.
  editor.preview = (change) => {
    editor.change = change
    editor.paint()
  }

  // Texts at the ends of lines that are as they were. They are kept while there is no such line: the
  // text area may get its text after them.
  const endOf = (n) => (editor.ends[n]?.line === editor.lines[n - 1] ? editor.ends[n]?.text ?? "" : "")
  const setEnds = (texts) => {
    for (const [n, text] of Object.entries(texts)) editor.ends[n] = { text, line: editor.lines[n - 1] }
  }

  // Keep them over a change that only a number undergoes, until the new ones come.
  editor.keepEnds = (change) => {
    const texts = Object.fromEntries(Object.keys(editor.ends).map((n) => [n, endOf(n)]))
    change()
    read()
    setEnds(texts)
    editor.paint()
  }

  // -- places --

  editor.lineAt = (y) => {
    const { area } = editor
    const n = Math.floor((y - area.getBoundingClientRect().top + area.scrollTop - TOP) / LINE) + 1
    return n >= 1 && n <= editor.starts.length ? n : null
  }

  editor.tokenAt = (x, y) => {
    const line = editor.lineAt(y)
    const spans = (line && rows[line - 1 - editor.first]?.spans) || []
    return spans.find((span) => isIn(span.getBoundingClientRect(), x))?.token ?? null
  }

  editor.offsetIn = (token, x) => {
    const spans = rows.flatMap(({ spans }) => spans)
    const r = spans.find((span) => span.token === token).getBoundingClientRect()
    return token.from + Math.round(((token.to - token.from) * (x - r.left)) / r.width)
  }

  // -- changes --

  // Replace a part of the text in a focused text area, and select.
  editor.edit = (from, to, text, start = from + text.length, end = start) => {
    editor.area.setSelectionRange(from, to)
    write(editor.area, text)
    editor.area.setSelectionRange(start, end)
  }

  // Replace a part of the text from outside: focus, what is seen, and a caret elsewhere stay.
  editor.replace = (from, to, text) => {
    const { area } = editor
    let focused = document.activeElement ?? document.body
    while (focused.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement
    const scroller = area.closest("[data-testid=stMain]")
    const [top, seen, left] = [scroller?.scrollTop, area.scrollTop, area.scrollLeft]
    const moved = (place) => (place <= from ? place : place >= to ? place + text.length - (to - from) : from + text.length)
    const selection = [moved(area.selectionStart), moved(area.selectionEnd)]
    area.focus({ preventScroll: true })
    editor.edit(from, to, text, ...selection)
    if (focused === document.body) area.blur()
    else focused.focus({ preventScroll: true })
    const changed = area.value.slice(0, from).split("\n").length - 1
    area.scrollTop = Math.min(seen, changed * LINE)
    area.scrollLeft = left
    if (scroller) scroller.scrollTop = top
  }

  // Replace the whole text, that is what differs.
  editor.replaceAll = (text) => {
    const old = editor.area.value
    if (text === old) return
    let from = 0
    let after = 0
    while (from < old.length && old[from] === text[from]) from++
    while (after < Math.min(old.length, text.length) - from && old.at(-1 - after) === text.at(-1 - after)) after++
    editor.replace(from, old.length - after, text.slice(from, text.length - after))
  }

  // Put in a changed program, and mark in which lines it differs.
  editor.apply = (text, change) => {
    const before = editor.area.value
    editor.replaceAll(text)
    const numbers = (list) => new Set((list ?? "").split(" ").map(Number))
    editor.applied = { before, after: editor.area.value, added: numbers(change.added), removed: numbers(change.removed) }
    said.textContent = change.said ?? ""
    editor.paint()
    // The text area keeps its height: the marked lines are brought into view.
    const marked = [...editor.applied.added, ...editor.applied.removed].filter((n) => n > 0)
    const { area } = editor
    const top = TOP + (Math.min(...marked) - 1) * LINE
    const bottom = TOP + Math.max(...marked) * LINE
    if (marked.length && (top < area.scrollTop || bottom > area.scrollTop + area.clientHeight))
      area.scrollTop = Math.max(0, Math.min(top, bottom + TOP - area.clientHeight))
  }

  undo.onclick = () => {
    editor.replaceAll(editor.applied.before)
    editor.commit()
    editor.run()
    editor.area.focus({ preventScroll: true })
  }

  // What Streamlit listens to; once it has heard of the last change.
  editor.commit = () => {
    clearTimeout(timer)
    const { area } = editor
    const keys = { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true }
    setTimeout(() => area.dispatchEvent(new KeyboardEvent("keydown", keys)))
  }

  // The reader asks for a run: Streamlit hears the same key, and then the button is pressed.
  editor.run = () => {
    clearTimeout(timer)
    const button = editor.data.run && document.querySelector(`.st-key-${editor.data.run} button`)
    if (button) setTimeout(() => button.click())
  }

  const typed = () => {
    editor.paint()
    clearTimeout(timer)
    if (editor.data.run && !composing) timer = setTimeout(editor.commit, PAUSE)
  }

  // Whoever sets the value, the layer shows it. React also writes every value to defaultValue, after
  // which each character would be undone by itself.
  const followValue = (area) => {
    const value = Object.getOwnPropertyDescriptor(area, "value") ?? Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value")
    const set = (text) => {
      value.set.call(area, text)
      editor.paint()
    }
    Object.defineProperty(area, "value", { configurable: true, get: () => value.get.call(area), set })
    Object.defineProperty(area, "defaultValue", { configurable: true, get: () => area.value, set: () => {} })
  }

  // -- the text area --

  const hovered = (line) => {
    const from = "editor"
    if (line === editor.over || !editor.data.run) return
    editor.over = line
    const detail = line && { from, nodes: [], tensor: null, line }
    announce("ax-hover", detail)
  }

  const mount = (area) => {
    stop?.abort()
    stop = new AbortController()
    const { signal } = stop
    const on = (target, name, listener) => target.addEventListener(name, listener, { signal })
    editor.area = area
    area.before(layer)
    document.querySelector(`.st-key-${key}`).append(bar)
    area.classList.add("ax-coloured")
    area.spellcheck = false
    area.setAttribute("autocapitalize", "off")
    area.setAttribute("autocorrect", "off")
    followValue(area)
    on(area, "input", typed)
    on(area, "compositionstart", () => ((composing = true), clearTimeout(timer)))
    on(area, "compositionend", () => ((composing = false), typed()))
    on(area, "scroll", editor.paint)
    on(area, "mousemove", (event) => {
      const line = editor.lineAt(event.clientY)
      const [a, b] = [editor.starts[line - 1], editor.starts[line] ?? editor.shown.length]
      hovered(line && editor.shown.slice(a, b).trim() ? line : null)
    })
    on(area, "mouseleave", () => hovered(null))
    on(area, "click", (event) => {
      if (event.clientX - area.getBoundingClientRect().left > GUTTER) return
      const line = editor.lineAt(event.clientY)
      if (line && editor.data.run) editor.chosen("line", line)
    })
    // What other parts of the page say is about its program.
    const heard = (name, listener) => on(window, name, ({ detail }) => editor.data.run && listener(detail))
    heard("ax-hover", (detail) => {
      if (editor.hover === (detail?.line ?? null)) return
      editor.hover = detail?.line ?? null
      editor.paint()
    })
    heard("ax-numbers", (detail) => {
      if (!detail?.lines) return
      setEnds(detail.lines)
      editor.paint()
    })
    heard("ax-replace", (detail) => {
      if (detail.change) editor.apply(detail.text, detail.change)
      else if (detail.line === undefined) editor.replaceAll(detail.text)
      else {
        const place = placeOf(area.value, detail)
        if (!place) return
        editor.replace(place.from, place.to, detail.text)
      }
      editor.commit()
      if (detail.run) editor.run()
    })
    listenForNumbers(editor, signal)
    listenForKeys(editor, signal)
    new ResizeObserver(editor.paint).observe(area)
    editor.paint()
  }

  const look = () => {
    if (editor.area?.isConnected) return
    const area = document.querySelector(`.st-key-${key} textarea`)
    if (area) mount(area)
  }
  const observer = new MutationObserver(look)
  observer.observe(document.body, { childList: true, subtree: true })
  look()

  editor.update = (data, chosen) => {
    editor.chosen = chosen
    const isNew = JSON.stringify(data.ends) !== JSON.stringify(editor.data.ends)
    editor.data = data
    if (isNew) editor.ends = Object.fromEntries(Object.entries(data.ends).map(([n, [line, text]]) => [n, { line, text }]))
    editor.paint()
  }

  editor.close = () => {
    observer.disconnect()
    stop?.abort()
    clearTimeout(timer)
    layer.remove()
    bar.remove()
    editor.area?.classList.remove("ax-coloured")
  }
  return editor
}

// `data` has an entry for each text area, by the key of its container.
export default function ({ data, parentElement, setTriggerValue }) {
  for (const [key, its] of Object.entries(data)) {
    if (!editors.has(key)) editors.set(key, makeEditor(key))
    editors.get(key).owner = parentElement
    editors.get(key).update(its, setTriggerValue)
  }
  return () => {
    for (const [key, editor] of editors) {
      if (editor.owner !== parentElement) continue // it was drawn again elsewhere
      editor.close()
      editors.delete(key)
    }
  }
}
