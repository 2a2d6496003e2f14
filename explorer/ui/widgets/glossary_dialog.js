// A click on a term of the glossary (`term_link` in glossary.py) reports the term's key.

// A dialog gives the focus back to the element that had it. Of a word inside a component that is
// the component's own element, which passes the focus on to the term.
function passFocus(word) {
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
    passFocus(word)
    setTriggerValue("word", word.dataset.term)
  }
  document.addEventListener("click", clicked)
  return () => document.removeEventListener("click", clicked)
}
