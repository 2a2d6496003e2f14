// Copies the page's address, and says what it does not hold. Uses address.js.

// Streamlit's own hosting shows the app in a frame, under an address with this part.
const shared = () => fullAddress().replace("/~/+/", "/").split("#")[0]

export default function ({ parentElement, setStateValue }) {
  keepAddressOfPageLeft()
  surviveServer((lost) => setStateValue("lost", lost))
  const find = (selector) => parentElement.querySelector(selector)
  const [button, box, said, field] = ["button", ".box", ".said", "input"].map(find)
  const close = () => (box.hidden = true)
  const copy = async () => {
    const link = shared()
    let copied = true
    try {
      await navigator.clipboard.writeText(link)
    } catch {
      copied = false // no secure connection, or not permitted
    }
    said.textContent = [copied ? "Link copied." : "Copy this link:", ...notInAddress()].join(" ")
    field.hidden = copied
    field.value = copied ? "" : link
    box.hidden = false
    if (!copied) field.select()
  }
  const outside = (event) => !event.composedPath().includes(parentElement) && close()
  const escape = ({ key }) => {
    if (key !== "Escape" || box.hidden) return
    close()
    button.focus()
  }
  button.onclick = copy
  document.addEventListener("pointerdown", outside)
  parentElement.addEventListener("keydown", escape)
  return () => {
    document.removeEventListener("pointerdown", outside)
    parentElement.removeEventListener("keydown", escape)
  }
}
