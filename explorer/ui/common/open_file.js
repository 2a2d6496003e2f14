// The button that opens a file, and files that are dropped on the editor.

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
      window.dispatchEvent(new CustomEvent("ax-replace", { detail: { text: opened.text, run: true } }))
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
