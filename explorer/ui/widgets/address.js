// What a page keeps in its address besides the values of widgets, such as presses. Of the server,
// that would be a message and an entry in the browser's history at each press.

// `params` are texts by name, null for those to leave out; `lacks` says what they do not hold.
function keepInAddress(params, lacks = "") {
  window.axAddress = { path: location.pathname, params, lacks }
  const full = fullAddress()
  if (full !== location.href) history.replaceState(history.state, "", full)
  rememberAddress()
}

// By its path, the address that each page had last.
function rememberAddress() {
  window.axAddresses = { ...window.axAddresses, [location.pathname]: location.search.slice(1) }
}

function fullAddress() {
  const kept = window.axAddress
  if (kept?.path !== location.pathname) return location.href
  const name = (pair) => decodeURIComponent(pair.split("=", 1)[0])
  const others = location.search.slice(1).split("&").filter((pair) => pair && !(name(pair) in kept.params))
  const own = Object.entries(kept.params).filter(([, text]) => text !== null)
  const query = [...others, ...own.map((pair) => pair.map(encodeURIComponent).join("="))].join("&")
  return location.origin + location.pathname + (query && `?${query}`) + location.hash
}

// What the address does not hold, in sentences: those of the page, and that of the last `keepInAddress`.
function notInAddress() {
  const marked = [...document.querySelectorAll(".ax-not-in-link")].map((element) => element.textContent)
  const kept = window.axAddress
  return [...marked, kept?.path === location.pathname ? kept.lacks : ""].filter(Boolean)
}
