// The button that opens a file, and files that are dropped on the editor. Uses shared.js.
//
// A notebook becomes the text of a program: its code cells, each after a line `# %%` with the heading
// that stands above it (see explorer/program/notebook.py). Format:
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

async function textOf(file, { most, largest }) {
  const name = file.name.slice(0, 60)
  const size = (file.size / 1e6).toLocaleString("en", { maximumFractionDigits: 0 })
  const limit = (largest / 1e6).toLocaleString("en")
  if (file.size > largest) throw `${name} has ${size} MB; files of at most ${limit} MB can be opened.`
  const text = (await file.text()).replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n")
  if (/\.ipynb$/i.test(name)) {
    const { text: code, cells, all } = notebookText(text, most)
    const count = cells < all ? `the first ${cells} of ${all} cells; more would be too long to run` : `${all} ${all === 1 ? "cell" : "cells"}`
    return { text: code, said: `${name}: ${count}` }
  }
  if (text.includes("\0")) throw `${name} is not a text file.`
  if (text.length > most) throw `${name} has ${text.length.toLocaleString("en")} characters; at most ${most.toLocaleString("en")} can be run.`
  if (!text.trim()) throw `${name} is empty.`
  return { text, said: name }
}

export default function ({ parentElement, data, setStateValue }) {
  const find = (selector) => parentElement.querySelector(selector)
  const [button, input, said] = ["button", "input", ".said"].map(find)
  let timer = null
  const say = (text, seconds) => {
    clearTimeout(timer)
    said.textContent = text
    timer = setTimeout(() => (said.textContent = ""), 1000 * seconds)
  }
  const open = async (file) => {
    say("Opening …", 60)
    try {
      const opened = await textOf(file, data)
      if (data.tells) setStateValue("opened", opened.text)
      announce("ax-replace", { text: opened.text, run: true })
      say(opened.said, 6)
    } catch (problem) {
      say(typeof problem === "string" ? problem : "This file cannot be read.", 15)
    }
  }
  button.onclick = () => input.click()
  input.onchange = () => {
    if (input.files[0]) open(input.files[0])
    input.value = "" // so that the same file can be opened again
  }
  const stop = new AbortController()
  const isDrop = (event) => event.dataTransfer?.types.includes("Files") && event.target.closest?.(".st-key-editor")
  const on = (name, listener) => document.addEventListener(name, (event) => isDrop(event) && listener(event), { signal: stop.signal })
  on("dragover", (event) => event.preventDefault())
  on("drop", (event) => {
    event.preventDefault()
    if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0])
  })
  return () => {
    clearTimeout(timer)
    stop.abort()
  }
}
