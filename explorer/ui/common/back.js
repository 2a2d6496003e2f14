// Lets Back lead to a page as it was left. On the way to another page Streamlit first gives the page
// that is left the address of the new one, as an entry of the history, and only then changes the
// page. That entry gets its own address back. Uses address.js.

function keepAddressOfPageLeft() {
  if (window.axLeft) return
  const none = { address: null, search: null }
  window.axLeft = none
  // What came before a click is not on the way to the page that it asks for. The second click of a
  // double click asks for nothing.
  const forget = ({ detail }) => detail < 2 && (window.axLeft = none)
  window.addEventListener("click", forget, { capture: true })
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
    window.axLeft = samePage ? { address: location.href, search: next.search } : none
    push(state, title, url)
  }
}
