// Lets Back lead to a page as it was left. On the way to another page Streamlit first gives the page
// that is left the address of the new one, as an entry of the history, and only then changes the
// page. That entry gets its own address back. Uses address.js.

const AT_ONCE = 1500 // ms between the two entries

function keepAddressOfPageLeft() {
  if (window.axLeft) return
  window.axLeft = { address: "", time: -Infinity }
  const push = history.pushState.bind(history)
  history.pushState = (state, title, url) => {
    const left = window.axLeft
    const next = new URL(url ?? "", location.href)
    const samePage = next.pathname === location.pathname
    const followed = performance.now() - left.time < AT_ONCE && next.search === location.search
    if (!samePage && followed) {
      history.replaceState(history.state, "", left.address)
      rememberAddress() // it was wrong for a moment
    }
    window.axLeft = samePage ? { address: location.href, time: performance.now() } : { address: "", time: -Infinity }
    push(state, title, url)
  }
}
