// The picture of the loss: heights on a grid, interpolated and drawn in bands with contour lines.

const BANDS = 18
const UNKNOWN = 65535 // the height of a place where the loss is not finite

function decode(text, Type) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  return new Type(bytes.buffer)
}

// Weights of the four neighbours of a place between the second and the third; exact for parabolas.
const catmullRom = (t) => [((2 - t) * t - 1) * t, (3 * t - 5) * t * t + 2, ((4 - 3 * t) * t + 1) * t, (t - 1) * t * t].map((w) => w / 2)

// Those weights for each of `size` pixels along `count` heights.
function neighbours(size, count) {
  return Array.from({ length: size }, (_, pixel) => {
    const at = Math.max(0, Math.min(count - 1, ((pixel + 0.5) / size) * (count - 1)))
    const i = Math.min(count - 2, Math.floor(at))
    const t = at - i
    return { places: [i - 1, i, i + 1, i + 2].map((k) => Math.max(0, Math.min(count - 1, k))), weights: catmullRom(t) }
  })
}

const weighted = ({ places, weights }, read) =>
  weights[0] * read(places[0]) + weights[1] * read(places[1]) + weights[2] * read(places[2]) + weights[3] * read(places[3])

// Colours of the bands, the lowest first.
function bands(palette) {
  return Array.from({ length: BANDS }, (_, band) => {
    const at = (band / (BANDS - 1)) * (palette.length - 1)
    const i = Math.min(palette.length - 2, Math.floor(at))
    return palette[i].map((from, k) => Math.round(from + (at - i) * (palette[i + 1][k] - from)))
  })
}

// Heights from 0 to 1, row by row from the lowest y; NaN where the loss is not finite.
function readMap(map) {
  const heights = Float32Array.from(decode(map.heights, Uint16Array), (v) => (v === UNKNOWN ? NaN : v / (UNKNOWN - 1)))
  return { ...map, heights }
}

function paintMap(canvas, { columns, rows, heights }, { palette, contour, unknown }) {
  const { width, height } = canvas
  const context = canvas.getContext("2d")
  const image = context.createImageData(width, height)
  const across = neighbours(width, columns)
  const wide = Array.from({ length: rows }, (_, row) => Float32Array.from(across, (near) => weighted(near, (k) => heights[row * columns + k])))
  const colours = bands(palette)
  let above = null
  neighbours(height, rows).reverse().forEach((near, line) => {
    const now = new Float32Array(width)
    for (let column = 0; column < width; column += 1) {
      const level = BANDS * weighted(near, (k) => wide[k][column])
      now[column] = level
      const at = 4 * (line * width + column)
      image.data[at + 3] = 255
      if (Number.isNaN(level)) {
        image.data.set(unknown, at)
        continue
      }
      const band = colours[Math.max(0, Math.min(BANDS - 1, Math.floor(level)))]
      // A line where the level is whole: as wide as a pixel, whatever the slope.
      const slope = Math.max(Math.abs(level - (now[column - 1] ?? level)), Math.abs(level - (above?.[column] ?? level)), 1e-6)
      const share = 0.45 * Math.max(0, 1 - Math.abs(level - Math.round(level)) / slope)
      for (let k = 0; k < 3; k += 1) image.data[at + k] = band[k] + share * (contour[k] - band[k])
    }
    above = now
  })
  context.putImageData(image, 0, 0)
}

// The loss at a place given by its share of the width and of the height from below; null where the
// grid is too coarse to tell, near the lowest place.
function lossAt(map, across, up) {
  const [column, row] = [across * (map.columns - 1), up * (map.rows - 1)]
  const [i, j] = [Math.min(map.columns - 2, Math.floor(column)), Math.min(map.rows - 2, Math.floor(row))]
  const [s, t] = [column - i, row - j]
  const read = (a, b) => map.heights[b * map.columns + a]
  const height = (1 - t) * ((1 - s) * read(i, j) + s * read(i + 1, j)) + t * ((1 - s) * read(i, j + 1) + s * read(i + 1, j + 1))
  const above = 10 ** (map.least + height * (map.most - map.least)) - map.floor
  return above < map.floor ? null : above + map.low
}
