// Shared by the components that draw texts and terms; it comes before their own code (see
// `ELEMENTS` in glossary.py).

function element(tag, className, text) {
  const node = document.createElement(tag)
  if (className) node.className = className
  if (text !== undefined) node.textContent = text
  return node
}

// A word of the glossary: a button with its key, which word_clicks.js listens to.
function word(term, text, help) {
  const button = element("button", "", text)
  button.type = "button"
  button.dataset.term = term
  button.title = help
  return button
}
