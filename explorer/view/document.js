// The walk through one graph in a file of its own. FRAMES has what `graph.js` draws for each step,
// with the step's `rule` as HTML and its `node`; the first, before any step, has the drawing.

const PLAY_MS = 1600
const part = (id) => document.getElementById(id)
const [{ svg, factored, digest, layout }] = FRAMES
let now = 0
let playing = 0

function show(step) {
  now = Math.max(0, Math.min(FRAMES.length - 1, step))
  const frame = FRAMES[now]
  const setTriggerValue = (_, id) => show(Math.max(0, FRAMES.findIndex(({ node }) => id && node === id)))
  drawGraph({ data: { ...frame, svg, factored, digest, layout }, parentElement: part("graph"), setTriggerValue })
  part("rule").innerHTML = frame.rule
  for (const button of part("rule").querySelectorAll("button")) button.replaceWith(button.textContent) // no glossary here
  part("at").value = now
  part("where").textContent = now ? `${now} of ${FRAMES.length - 1}` : `${FRAMES.length - 1} steps`
  part("before").disabled = !now
  part("after").disabled = now === FRAMES.length - 1
  if (now === FRAMES.length - 1) pause()
}

function pause() {
  clearInterval(playing)
  playing = 0
  part("play").textContent = "Play"
}

function play() {
  if (playing) return pause()
  if (now === FRAMES.length - 1) show(0)
  playing = setInterval(() => show(now + 1), PLAY_MS)
  part("play").textContent = "Pause"
  show(now + 1)
}

part("at").max = FRAMES.length - 1
part("at").oninput = () => show(Number(part("at").value))
part("before").onclick = () => show(now - 1)
part("after").onclick = () => show(now + 1)
part("play").onclick = play
show(0)
