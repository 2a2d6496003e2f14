// What the keys do in an editor of programs, beyond what they do in any text area: they indent,
// keep the indentation, write brackets in pairs and make comments. It comes before editor.js.

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
