// Copies the page's address, and says what it does not hold. Uses address.js and reconnect.js.

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

// -- Back -----------------------------------------------------------------------------------------

// Lets Back lead to a page as it was left. On the way to another page Streamlit first gives the page
// that is left the address of the new one, as an entry of the history, and only then changes the
// page. That entry gets its own address back.
//
// What a component asks meanwhile would lead back to the page that is left, of which the server
// draws nothing any more: what is asked is sent before the way begins, and `axIsLeaving` says that
// nothing more may be.

const LINK = "[data-testid=stPageLink-NavLink]"
const FIRST = 30 // ms in which Streamlit sends what was asked before
const LEAVING = 5000 // ms that the way to another page takes at most

function keepAddressOfPageLeft() {
  if (window.axLeft) return
  const none = { address: null, search: null }
  window.axLeft = none
  let [leaving, passes] = [-Infinity, false]
  window.axIsLeaving = () => performance.now() - leaving < LEAVING
  // What came before a click is not on the way to the page that it asks for. The second click of a
  // double click asks for nothing.
  const begin = (event) => {
    if (passes) return
    const link = event.target.closest?.(LINK)
    const isLeft = link && link.pathname !== location.pathname
    const leads = isLeft && !(event.button || event.ctrlKey || event.metaKey || event.shiftKey)
    if (leads) {
      event.preventDefault()
      event.stopImmediatePropagation()
    }
    if (event.detail >= 2) return
    window.axLeft = none
    leaving = leads ? performance.now() : -Infinity
    if (leads) setTimeout(() => {
      const now = [...document.querySelectorAll(LINK)].find(({ pathname }) => pathname === link.pathname)
      passes = true
      now?.click() // it may have been drawn anew
      passes = false
    }, FIRST)
  }
  window.addEventListener("click", begin, { capture: true })
  const push = history.pushState.bind(history)
  history.pushState = (state, title, url) => {
    const left = window.axLeft
    const next = new URL(url ?? "", location.href)
    const samePage = next.pathname === location.pathname
    // A component may have written into the address in between.
    if (!samePage && next.search === left.search) {
      history.replaceState(history.state, "", left.address)
      history.replaceState(history.state, "", fullAddress())
      rememberAddress() // it was wrong for a moment
    }
    if (!samePage) leaving = -Infinity
    window.axLeft = samePage ? { address: location.href, search: next.search } : none
    push(state, title, url)
  }
}
