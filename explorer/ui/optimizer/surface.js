// The loss over a plane or along a line, with the paths of all runs. The point can be dragged, which
// is told to the window as `ax-drag`; the numbers of a frame come back as `ax-numbers`. Where the
// hand lets go, the trigger `placed` is the press.

const ASK = 60 // ms after a picture until the path ahead of it is asked for
const AGAIN = 1500 // ms after which it is asked for again
const APART = 20 // ms between the last move of a hand and its press
const LOST = 3000 // ms after which a press is no longer waited for
const GROW = 450 // ms in which the view grows
const FINE = 10 // arrow keys with Shift go this much less far
const states = new WeakMap()

function make(root, send) {
  const find = (selector) => root.querySelector(selector)
  const [picture, canvas, svg] = [find(".picture"), find("canvas"), find("svg")]
  const state = { root, send, drag: null, frame: null, ahead: null, asked: 0 }
  const groups = { axes: node("g", {}), legend: node("g", {}), moving: node("g", {}), arrows: node("g", { "pointer-events": "none" }), handle: node("g", { class: "handle", tabindex: 0, role: "slider" }) }
  const clip = node("clipPath", { id: "surface-box" })
  groups.moving.setAttribute("clip-path", "url(#surface-box)")
  svg.append(clip, groups.axes, groups.moving, groups.legend, groups.handle, groups.arrows)
  groups.handle.append(node("circle", { r: 22, fill: "transparent" }), node("circle", { r: 8.5, class: "dot" }))
  state.player = makePlayer(() => state.drawMoving())
  const still = matchMedia("(prefers-reduced-motion: reduce)")

  const present = () => state.drag?.at ?? state.data.at
  const isLine = () => state.data.curve !== null
  const onCurve = (at) => {
    const { data } = state
    const { x, y } = data.curve
    const share = shareOf(data.x, at)
    const [to, back] = evenly(data.y)
    const loss = share < 0 || share > 1 ? NaN : back(along(share, x.length, (k) => (y[k] === null ? NaN : to(y[k]))))
    return Number.isNaN(loss) ? null : loss
  }
  // A point as [x, y] on the axes: over a line on its curve, and beyond it at a loss if one is known.
  const lift = (point, loss = NaN) => {
    if (!point || !isLine()) return point
    const y = onCurve(point[0]) ?? loss
    return Number.isNaN(y) ? null : [point[0], y]
  }
  const liftPath = (path) => path.map((point) => lift(point, point?.[1]))
  const lossNear = ([a, b]) => {
    if (isLine()) return onCurve(a)
    const { x, y } = state.data
    const [across, up] = [shareOf(x, a), shareOf(y, b)]
    return state.map && across >= 0 && across <= 1 && up >= 0 && up <= 1 ? lossAt(state.map, across, up) : null
  }

  state.drawAll = () => {
    const { data } = state
    state.width = Math.max(240, picture.clientWidth)
    state.height = Math.max(200, picture.clientHeight)
    state.paint = { ...colours(root), ...SURFACE[isDark(root) ? "dark" : "light"] }
    state.family = getComputedStyle(root).fontFamily
    const { width, height, paint, family } = state
    const longest = arrange(legend({ gradient: " × 0.0001", update: " (shortened)" }), width - 30, family, data.y.label)
    state.rows = Math.max(1, ...longest.map((entry) => entry.row + 1))
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`)
    svg.setAttribute("aria-label", data.alt)
    state.map = data.map && readMap(data.map)
    canvas.hidden = !state.map
    const { box } = layOut(data, width, height, state.rows)
    const painted = JSON.stringify([data.map, box, paint.palette])
    if (state.map && painted !== state.painted) {
      const ratio = Math.min(2, devicePixelRatio)
      canvas.width = Math.round(box.width * ratio)
      canvas.height = Math.round(box.height * ratio)
      paintMap(canvas, state.map, paint)
    }
    state.painted = painted
    drawFrame()
  }

  // The axes, as far as they are shown: while the view grows, a part of them.
  function drawFrame() {
    const { data, width, height, paint, family, view } = state
    const shown = Object.fromEntries(["x", "y"].map((k) => [k, view ? { ...data[k], ...view.now[k] } : data[k]]))
    const frame = (state.frame = layOut(shown, width, height, state.rows))
    frame.y.flat = isLine()
    clip.replaceChildren(node("rect", frame.box))
    groups.axes.replaceChildren(...drawAxes(frame, data, paint, width, height, family, []))
    const { x, y, box } = frame
    const [left, right] = [data.x.low, data.x.high].map(x.place)
    const [bottom, top] = [data.y.low, data.y.high].map(y.place)
    const hidden = [box.y - top, right - box.x - box.width, bottom - box.y - box.height, box.x - left]
    const inset = `inset(${hidden.map((part) => `${Math.max(0, part)}px`).join(" ")})`
    Object.assign(canvas.style, { left: `${left}px`, top: `${top}px`, width: `${right - left}px`, height: `${bottom - top}px`, clipPath: inset })
    state.drawMoving()
  }

  // Where a run leaves the view, the view grows to the new one.
  function grow(before) {
    cancelAnimationFrame(state.view?.timer)
    const from = state.view?.now ?? before
    const { data } = state
    state.view = null
    const ends = ({ low, high }) => ({ low, high })
    const grows = ["x", "y"].some((k) => from[k].high - from[k].low < 0.99 * (data[k].high - data[k].low))
    if (!grows || still.matches) return
    const way = Object.fromEntries(["x", "y"].map((k) => [k, [shareOf(data[k], from[k].low), shareOf(data[k], from[k].high)]]))
    const view = (state.view = { now: { x: ends(from.x), y: ends(from.y) } })
    const begin = performance.now()
    const tick = (now) => {
      const passed = Math.min(1, Math.max(0, now - begin) / GROW)
      const left = (1 - passed) ** 2
      for (const k of ["x", "y"]) view.now[k] = { low: numberAt(data[k], left * way[k][0]), high: numberAt(data[k], 1 - left * (1 - way[k][1])) }
      if (passed === 1) state.view = null
      else view.timer = requestAnimationFrame(tick)
      drawFrame()
    }
    view.timer = requestAnimationFrame(tick)
  }

  function legend(words) {
    const { data, paint } = state
    const runs = data.runs.length > 1 ? data.runs.map((run, i) => ({ kind: "path", text: run.name, colour: paint.runs[i] })) : []
    return [
      ...runs,
      { kind: "ahead", text: "path ahead", colour: paint.runs[0] },
      isLine() ? { kind: "slope", text: "slope", colour: paint.gradient } : { kind: "arrow", text: `−gradient${words.gradient ?? ""}`, colour: paint.gradient },
      // Without a gradient of this place step would do something else, or nothing.
      { kind: "arrow", text: `${words.isStep ? "next step" : "next iteration"}${words.update ?? ""}`, colour: paint.update },
    ]
  }

  state.drawMoving = () => {
    const { data, frame, paint, player, drag, ahead } = state
    const shown = Math.round(player.at)
    const isNow = player.at >= player.last
    const parts = []
    if (isLine()) parts.push(node("path", { d: trace(data.curve.x.map((x, i) => (data.curve.y[i] === null ? null : [x, data.curve.y[i]])), frame), fill: "none", stroke: paint.faint, "stroke-width": 2.2 }))
    const step = data.runs[0].steps[shown]
    state.paths.forEach((path, i) => {
      const lifted = liftPath(path)
      const steps = data.runs[i].steps
      const end = isNow ? path.length : steps.findLastIndex((s) => s <= step) + 1
      if (!isNow || drag) parts.push(...drawPath(lifted, frame, paint.runs[i], paint, { opacity: 0.3, dots: false }))
      if (!drag) parts.push(...drawPath(until(lifted, i === 0 ? player.at + 1 : end), frame, paint.runs[i], paint, { dots: path.length <= DOTS }))
    })
    let [words, arrowParts] = [{}, []]
    if (isNow || drag) {
      for (const [i, run] of (ahead?.runs ?? []).entries()) if (state.paths[i]) parts.push(...drawAhead(run[0].map((x, k) => lift([x, run[1][k] ?? 0])), frame, paint.runs[i], paint, i ? 0.4 : 1))
      const at = lift(present())
      const arrows = { ...ahead?.arrows, ...(drag || ahead?.live ? {} : data.arrows) }
      if (at && isLine() && arrows.gradient) {
        const rise = (x) => at[1] + arrows.gradient[0] * (x - at[0])
        parts.push(node("path", { d: trace(data.curve.x.map((x) => [x, rise(x)]), frame), fill: "none", stroke: paint.gradient, "stroke-width": 1.7, "stroke-dasharray": "6 3" }))
      }
      if (at) {
        const drawn = drawArrows(arrows, at, frame, paint)
        drawn.words.isStep = Boolean(data.arrows.update) && arrows.update === data.arrows.update
        arrowParts = drawn.parts
        words = drawn.words
      }
    }
    // The other runs' points, and that of a replay.
    state.paths.forEach((path, i) => {
      const end = isNow ? path.length : data.runs[i].steps.findLastIndex((s) => s <= step) + 1
      const at = i === 0 ? (isNow ? null : between(liftPath(path), player.at)) : drag ? null : lift(path[end - 1])
      if (at) parts.push(node("circle", { cx: frame.x.place(at[0]), cy: frame.y.place(at[1]), r: 6.5, fill: paint.runs[i], stroke: paint.ground, "stroke-width": 2, class: "moment" }))
    })
    groups.moving.replaceChildren(...parts)
    groups.arrows.replaceChildren(...arrowParts)
    const entries = arrange(legend(words), state.width - 30, state.family, data.y.label)
    groups.legend.replaceChildren(...entries.flatMap(({ kind, text, colour, left, row }) => [...symbol(kind, colour, paint, left + 2, 11 + ROW * row), node("text", { fill: paint.text, x: left + 29, y: 15.5 + ROW * row }, text)]))
    drawHandle()
    showMoment(isNow, shown)
  }

  function drawHandle() {
    const { data, frame, paint, player, drag } = state
    const at = lift(present())
    const place = at && [frame.x.place(at[0]), frame.y.place(at[1])]
    const inside = place && place[0] >= frame.box.x - 1 && place[0] <= frame.box.x + frame.box.width + 1 && place[1] >= frame.box.y - 1 && place[1] <= frame.box.y + frame.box.height + 1
    groups.handle.setAttribute("display", inside ? "inline" : "none")
    if (inside) groups.handle.setAttribute("transform", `translate(${place[0]},${place[1]})`)
    const [, dot] = groups.handle.children
    dot.setAttribute("fill", paint.runs[0])
    dot.setAttribute("stroke", paint.ground)
    groups.handle.style.opacity = player.at >= player.last || drag ? 1 : 0.35
    const text = describe(present())
    const attributes = { "aria-label": `Point of the run at ${data.names.join(" and ")}`, "aria-valuemin": data.x.low, "aria-valuemax": data.x.high, "aria-valuenow": present()?.[0] ?? 0, "aria-valuetext": text }
    for (const [name, value] of Object.entries(attributes)) groups.handle.setAttribute(name, value)
  }

  function describe(at, loss, digits = 1000) {
    const { data } = state
    if (!at || data.names.some((_, i) => !Number.isFinite(at[i]))) return "The run is not finite."
    const axes = [data.x, data.y]
    const where = data.names.map((name, i) => `${name} = ${format(at[i], grain(axes[i], at[i], 1 / digits))}`).join(", ")
    const near = loss ?? lossNear(at)
    if (near === null || !Number.isFinite(near)) return where
    // What is read from the picture is right to a few percent, beside a steep wall.
    const isRead = loss === undefined || loss === null
    return `${data.exact ? `${where}: ` : ""}loss ${isRead ? "≈ " : ""}${format(near, Math.abs(near) / (isRead ? 5 : 1000) || 1)}`
  }

  // Whether a frame is that of this place: while the hand moves, the last one may be of another.
  function isOf(frame, at) {
    const axes = [state.data.x, state.data.y]
    return frame && (!frame.at || frame.at.every((v, i) => Math.abs(v - at[i]) <= grain(axes[i], v, 1e-6)))
  }

  function showMoment(isNow, shown) {
    const { data, player, drag, ahead } = state
    const steps = data.runs[0].steps
    const slider = find(".moment input")
    slider.max = player.last
    if (slider.matches(":active") === false || player.playing) slider.value = player.at
    const step = steps[shown]
    const words = `step ${step} of ${steps.at(-1)}`
    find(".moment output").textContent = player.last < 1 ? "Each step adds a point." : words
    slider.setAttribute("aria-valuetext", words)
    find(".player").classList.toggle("idle", player.last < 1)
    for (const control of root.querySelectorAll(".player :is(button, input, select)")) control.disabled = player.last < 1
    const button = find(".play")
    button.textContent = player.playing ? "❚❚" : "▶"
    button.title = player.playing ? "Pause" : "Replay the run so far"
    button.setAttribute("aria-label", button.title)
    const at = drag ? drag.at : isNow ? data.at : state.paths[0][shown]
    find(".reading").textContent = state.pointed ?? describe(at, (drag || isNow) && isOf(ahead, at) ? ahead.loss : undefined, drag || isNow ? 1000 : 100)
    const replayed = isNow ? null : step
    if (state.replayed !== replayed) announce("ax-moment", { step: replayed })
    state.replayed = replayed
  }

  // -- the hand ------------------------------------------------------------------------------

  const place = () => state.drag.at.slice(0, state.data.names.length)
  const move = (at) => {
    state.drag = { ...state.drag, at }
    state.pointed = null
    if (state.player.at < state.player.last) state.player.seek(state.player.last)
    state.drawMoving()
    announce("ax-drag", { target: { point: state.data.names }, value: place(), phase: "move" })
  }
  // The press itself ends the drag. Streamlit sends what is asked in one moment as one message, and
  // runs only the first fragment of it: so the press is sent after the move of a quick click or tap.
  const drop = () => {
    const drag = (state.drag = { ...state.drag, dropped: true })
    const event = { names: state.data.names, value: place() }
    setTimeout(() => state.send("placed", event), APART)
    setTimeout(() => state.drag === drag && giveUp(), LOST)
  }
  const giveUp = () => {
    state.drag = null
    state.ahead = null
    state.drawMoving()
    state.ask()
  }
  const cancel = () => {
    if (state.drag && !state.drag.dropped) giveUp()
  }
  const valueAt = (event) => {
    const box = svg.getBoundingClientRect()
    return [state.frame.x.value(event.clientX - box.left), isLine() ? 0 : state.frame.y.value(event.clientY - box.top)]
  }
  const isInside = (event) => {
    const [r, { box }] = [svg.getBoundingClientRect(), state.frame]
    const [x, y] = [event.clientX - r.left - box.x, event.clientY - r.top - box.y]
    return x >= -4 && y >= -4 && x <= box.width + 4 && y <= box.height + 4
  }
  const isHandle = (event) => groups.handle.contains(event.target)
  let held = null
  svg.onpointerdown = (event) => {
    if (state.drag?.dropped || event.button !== 0 || (!isInside(event) && !isHandle(event))) return
    if (event.pointerType === "touch" && !isHandle(event)) return // it may be a scroll; a tap clicks
    event.preventDefault()
    groups.handle.focus({ preventScroll: true })
    svg.setPointerCapture(event.pointerId)
    held = { x: event.clientX, y: event.clientY, id: event.pointerId }
    if (!isHandle(event)) move(valueAt(event))
  }
  svg.onpointermove = (event) => {
    if (held) {
      if (state.drag === null && Math.hypot(event.clientX - held.x, event.clientY - held.y) < 3) return
      move(valueAt(event))
    } else if (event.pointerType === "mouse") {
      state.pointed = isInside(event) ? describe(valueAt(event)) : null
      showMoment(state.player.at >= state.player.last, Math.round(state.player.at))
    }
  }
  svg.onpointerleave = () => {
    state.pointed = null
    showMoment(state.player.at >= state.player.last, Math.round(state.player.at))
  }
  svg.onpointerup = () => {
    if (held && state.drag) drop()
    held = null
  }
  svg.onpointercancel = () => {
    held = null
    cancel()
  }
  svg.onclick = (event) => {
    if (event.pointerType !== "touch" || state.drag || !isInside(event) || isHandle(event)) return
    move(valueAt(event))
    drop()
  }
  groups.handle.onkeydown = (event) => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] }[event.key]
    if (event.key === "Enter" && state.drag) (event.preventDefault(), drop())
    if (event.key === "Escape") ((held = null), cancel())
    if (!way || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    const from = present()
    if (!from) return
    const { x, y } = state.data
    const go = isLine() ? [way[0] + way[1], 0] : way
    move([x, y].map((axis, i) => {
      const to = numberAt(axis, shareOf(axis, from[i]) + go[i] / 40 / (event.shiftKey ? FINE : 1))
      return go[i] ? +clamp(to, axis.low, axis.high).toPrecision(6) : from[i]
    }))
  }
  groups.handle.onblur = () => !held && cancel()

  find(".play").onclick = () => (state.player.play(), state.drawMoving())
  find(".moment input").oninput = (event) => (state.player.seek(Number(event.target.value)), state.drawMoving())
  find(".speed").onchange = (event) => (state.player.speed = Number(event.target.value))
  find(".save").onclick = () => {
    const whole = svg.cloneNode(true)
    const { box } = state.frame
    if (!canvas.hidden) whole.prepend(node("image", { ...box, href: canvas.toDataURL(), preserveAspectRatio: "none" }))
    save(whole, state.paint, "surface.svg", FONT)
  }

  // -- what the page says ----------------------------------------------------------------------

  // Once the picture is there, what lies ahead is asked for.
  state.ask = () => {
    clearTimeout(state.asked)
    const { version, running } = state.data
    if (running) return // the next picture comes at once, and asks for itself
    const ask = (times) => {
      if (state.drag === null) announce("ax-drag", { target: { ahead: version }, value: null, phase: "move" })
      if (times < 3) state.asked = setTimeout(() => state.ahead?.version !== version && ask(times + 1), AGAIN)
    }
    state.asked = setTimeout(() => ask(0), ASK)
  }
  const follow = ({ surface: numbers }) => {
    if (!numbers) return
    if (numbers.at ? !state.drag : numbers.version !== state.data.version) return // too late
    state.ahead = numbers
    state.drawMoving()
  }
  state.update = (data) => {
    const before = state.data
    if (before?.version === data.version && JSON.stringify(before) === JSON.stringify(data)) return
    state.data = data
    const axes = [data.x, data.y]
    state.paths = data.runs.map((run) => readPath(run.path, axes, isLine()))
    for (const run of data.runs) run.steps ??= data.runs[0].steps
    const isSame = before?.run === data.run
    if (state.drag && before?.version !== data.version) state.drag = null
    if (!isSame || before.version !== data.version) state.ahead = null
    state.player.present(state.paths[0].length - 1, isSame)
    find(".growth").textContent = data.growth
    find(".about").textContent = data.caption
    showPlanes(find(".plane"), data.planes, (choice) => state.send("chosen", choice))
    root.classList.toggle("planar", data.planes !== null)
    if (isSame) grow(before)
    else state.view = null
    state.drawAll()
    if (state.ahead === null) state.ask()
  }
  const silence = hear({ "ax-numbers": follow })
  state.observer = new ResizeObserver(() => state.data && (picture.clientWidth !== state.width || picture.clientHeight !== state.height) && state.drawAll())
  state.observer.observe(picture)
  const scheme = matchMedia("(prefers-color-scheme: dark)")
  state.recolour = () => setTimeout(() => state.data && state.drawAll(), 100)
  scheme.addEventListener("change", state.recolour)
  state.end = () => {
    clearTimeout(state.asked)
    cancelAnimationFrame(state.view?.timer)
    state.player.end()
    silence()
    scheme.removeEventListener("change", state.recolour)
    state.observer.disconnect()
  }
  return state
}

// The points until a position between two of them.
function until(points, end) {
  const whole = points.slice(0, Math.floor(end))
  const last = between(points, end - 1)
  return last && end % 1 ? [...whole, last] : whole
}

function between(points, at) {
  const [a, b, share] = [points[Math.floor(at)], points[Math.min(points.length - 1, Math.floor(at) + 1)], at % 1]
  return a && b ? a.map((v, k) => v + share * (b[k] - v)) : null
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".surface")
  let state = states.get(root)
  if (!state) states.set(root, (state = make(root, (name, event) => state.trigger(name, event))))
  state.trigger = setTriggerValue
  state.update(data)
  return () => {
    state.end()
    states.delete(root)
  }
}
