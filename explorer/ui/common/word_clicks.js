// A press on a word of the glossary (words.py), wherever it stands, reports the word's key.

// A dialog gives the focus back to the element that had it. Of a word inside a component that is
// the component's own element, which hands the focus on to the word.
function handOn(word) {
  const { host } = word.getRootNode()
  if (!host) return
  host.tabIndex = -1
  const focused = () => {
    host.removeAttribute("tabindex")
    word.focus()
  }
  host.addEventListener("focus", focused, { once: true })
}

export default function (component) {
  const { setTriggerValue } = component
  const clicked = (event) => {
    const word = event.composedPath().find((element) => element.dataset?.term)
    if (!word) return
    handOn(word)
    setTriggerValue("word", word.dataset.term)
  }
  document.addEventListener("click", clicked)
  return () => document.removeEventListener("click", clicked)
}
