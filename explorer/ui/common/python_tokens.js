// The tokens of a Python program as an editor colours them, of any text: a string that nothing ends
// goes on to the end of its line, or of the text. It comes before editor.js.

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
  return all
}
