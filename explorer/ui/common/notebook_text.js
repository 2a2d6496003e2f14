// A notebook as the text of a program: its code cells, each after a line `# %%` with the heading that
// stands above it (see explorer/program/cells.py). Format:
// https://nbformat.readthedocs.io/en/latest/format_description.html

const joined = (source) => (Array.isArray(source) ? source.join("") : String(source ?? ""))

// The last heading of a Markdown cell, without its markup.
function headingOf(text) {
  const headings = [...text.matchAll(/^#{1,6}\s+(.*)$/gm)]
  return (headings.at(-1)?.[1] ?? "").replace(/<[^>]*>|[*`#]|\[|\]\([^)]*\)/g, "").trim().slice(0, 80)
}

// {text, cells, all}: as many of `all` code cells as fit into `most` characters. Throws a sentence.
function notebookText(json, most) {
  let notebook
  try {
    notebook = JSON.parse(json)
  } catch {
    throw "This file is not a notebook: it is not JSON."
  }
  const parts = notebook?.cells ?? notebook?.worksheets?.flatMap(({ cells }) => cells)
  if (!Array.isArray(parts)) throw "This file is not a notebook: it has no cells."
  const language = notebook.metadata?.kernelspec?.language ?? notebook.metadata?.language_info?.name ?? "python"
  if (!/python/i.test(language)) throw `This notebook is written in ${String(language).slice(0, 20)}, not in Python.`
  const texts = []
  let heading = ""
  for (const cell of parts) {
    const source = joined(cell?.source ?? cell?.input).trimEnd()
    if (cell?.cell_type === "markdown") heading = headingOf(source) || heading
    if (cell?.cell_type !== "code" || !source.trim()) continue
    texts.push(`# %% ${heading}`.trimEnd() + `\n${source}\n`)
    heading = ""
  }
  if (!texts.length) throw "This notebook has no code."
  let [size, cells] = [0, 0]
  while (cells < texts.length && size + texts[cells].length + 1 <= most) size += texts[cells++].length + 1
  if (!cells) throw `The first cell is too long: at most ${most.toLocaleString("en")} characters can be run.`
  return { text: texts.slice(0, cells).join("\n"), cells, all: texts.length }
}
