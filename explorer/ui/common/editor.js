// An editor of programs: a native text area with its text in colour on a layer behind it. The text
// area keeps caret, selection and undo, and Streamlit reads it; the layer shows numbers of lines,
// marks, and values at the ends of lines. Without this script the plain text remains.

const LINE = 20 // pixels, as in editor.css
const TOP = 8
const GUTTER = 36
const PAUSE = 300 // milliseconds without a key until what was typed is run
const MARK = /^#\s?%%(?!%)/ // begins a cell, see explorer/program/cells.py
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
  const editor = { key, area: null, text: "", shown: "", tokens: [], starts: [], data: {}, change: null, hover: null, ends: {}, leaving: false, applied: null }
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
      const now = editor.text.split("\n")
      for (const [n, { line }] of Object.entries(editor.ends)) if (line !== now[n - 1]) delete editor.ends[n]
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

  // Line `n`, from 0: its text in colours, and the value at its end.
  const drawLine = ({ node, code, spans, end }, n) => {
    const { area, shown, starts, data, hover, ends } = editor
    const [from, to] = [starts[n], (starts[n + 1] ?? shown.length + 1) - 1]
    let [at, used] = [from, 0]
    const add = (kind, upTo, token) => {
      if (upTo === at) return
      spans[used] ??= addSpan(code)
      put(spans[used], kind, shown.slice(at, upTo))
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
    for (const span of spans.slice(used)) put(span, "", "")
    const kinds = Object.keys(data.marks ?? {}).filter((kind) => data.marks[kind] === n + 1)
    if (MARK.test(shown.slice(from, to))) kinds.push("cell")
    if (isApplied()) kinds.push(...["added", "removed"].filter((kind) => editor.applied[kind].has(n + 1)))
    node.className = ["line", ...kinds, ...(hover === n + 1 ? ["hover"] : [])].join(" ")
    node.dataset.line = n + 1
    Object.assign(node.style, { top: `${TOP + n * LINE}px`, width: `${area.clientWidth + area.scrollLeft}px`, display: "" })
    put(end, "end", ends[n + 1]?.text ?? "")
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

  // Texts at the ends of lines, for as long as these lines do not change.
  const setEnds = (texts) => {
    const now = editor.text.split("\n")
    for (const [n, text] of Object.entries(texts)) editor.ends[n] = { text, line: now[n - 1] }
  }

  // Keep them over a change that only a number undergoes, until the new ones come.
  editor.keepEnds = (change) => {
    const texts = Object.fromEntries(Object.entries(editor.ends).map(([n, { text }]) => [n, text]))
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
    const focused = document.activeElement ?? document.body
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
    window.dispatchEvent(new CustomEvent("ax-hover", { detail }))
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
    editor.text = null // so that those of changed lines go
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
