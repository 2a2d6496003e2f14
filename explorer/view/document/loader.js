// Unpacks the scripts of the page, and runs them; they unpack the rest.

const unpack = async (name) => {
  const bytes = Uint8Array.from(atob(document.getElementById(name).textContent), (c) => c.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))
  return new Response(stream).text()
}
const parsed = new Promise((done) =>
  document.readyState === "loading" ? addEventListener("DOMContentLoaded", done) : done())
unpack("code").then((code) => {
  const script = document.createElement("script")
  script.type = "module"
  script.textContent = code
  document.head.append(script)
})
