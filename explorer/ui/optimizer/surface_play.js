// The clock of a replay: which point of the run is shown, as a number between 0 and the last.

const POINTS_PER_SECOND = 5 // of short runs
const LONGEST = 8 // seconds that a replay takes
const CATCH_UP = 1500 // most milliseconds in which what a press added is shown

function makePlayer(draw) {
  const player = { at: 0, last: 0, playing: false, speed: 1 }
  const still = matchMedia("(prefers-reduced-motion: reduce)")
  let [timer, before, way] = [0, 0, null]

  const tick = (now) => {
    timer = 0
    const passed = Math.min(100, now - before)
    before = now
    if (way) {
      const share = Math.min(1, (now - way.start) / way.time)
      player.at = way.from + share * (way.to - way.from)
      if (share === 1) way = null
    } else if (player.playing) {
      const rate = Math.max(POINTS_PER_SECOND, player.last / LONGEST)
      player.at = Math.min(player.last, player.at + (passed / 1000) * rate * player.speed)
      if (player.at === player.last) player.playing = false
    }
    draw()
    run()
  }
  const run = () => {
    if (!timer && (way || player.playing)) {
      before = performance.now()
      timer = requestAnimationFrame(tick)
    }
  }
  player.play = () => {
    way = null
    player.playing = !player.playing
    if (player.playing && player.at >= player.last) player.at = 0
    run()
  }
  player.seek = (at) => {
    way = null
    player.playing = false
    player.at = at
  }
  // Back to the present. Where several points are new, the way to them is shown.
  player.present = (last, continues) => {
    const from = way || player.at === player.last ? player.at : player.last
    player.playing = false
    player.last = last
    way = null
    player.at = last
    if (continues && last - from >= 2 && !still.matches) {
      const now = performance.now()
      way = { from, to: last, start: now, time: Math.min(CATCH_UP, 80 * (last - from)) }
      player.at = from
      run()
    }
  }
  player.end = () => cancelAnimationFrame(timer)
  return player
}
