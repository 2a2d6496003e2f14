// Lets a page survive its server. When the connection is lost, the browser still has everything that
// was on the screen; Streamlit connects again, perhaps to a server that knows nothing of it, and
// seldom asks it for anything. So what Streamlit itself would not send goes with the next request,
// whoever makes it (reconnect.py reads it), and if nobody makes one, this does. Uses address.js.

const PATIENCE = 250 // ms in which Streamlit asks for a run by itself, if it does
const RECENT = 20000 // ms after a loss in which the page may not be whole again

// `send` gives the server a value, and asks for a run if there is a connection.
function surviveServer(send) {
  const watch = (window.axWatch ??= watchConnection())
  watch.send = send
}

function watchConnection() {
  const app = document.querySelector(".stApp")
  const watch = {}
  let lost = null // what is to be sent; null while all is well
  let waiting = null
  const is = (name, value) => app.getAttribute(`data-test-${name}-state`) === value
  const changed = () => {
    const [connected, running] = [is("connection", "CONNECTED"), is("script", "running")]
    if (!connected || running) {
      clearTimeout(waiting)
      waiting = null
    }
    if (!connected && !(lost && Date.now() - lost.at < RECENT)) watch.send((lost = pageAsItIs()))
    else if (connected && running && lost) lost.answered = true
    else if (connected && !running && lost?.answered) lost = null
    else if (connected && !running && lost) waiting ??= setTimeout(() => watch.send(lost), PATIENCE)
    if (connected && !running) rememberAddress()
  }
  new MutationObserver(changed).observe(app, {
    attributeFilter: ["data-test-connection-state", "data-test-script-state"],
  })
  return watch
}

// The addresses of all pages as they were left, what a component has written into this one, and what
// pages gave to `keep`.
function pageAsItIs() {
  const kept = [...document.querySelectorAll(".ax-kept")].map(({ dataset }) => [dataset.name, dataset.value])
  rememberAddress()
  const written = window.axAddress?.path === location.pathname ? window.axAddress.params : {}
  return { at: Date.now(), addresses: window.axAddresses, written, kept: Object.fromEntries(kept) }
}
