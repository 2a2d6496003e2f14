// The picture of the loss: heights on a grid, interpolated and drawn in bands with contour lines.

const BANDS = 18
const UNKNOWN = 65535 // the height of a place where the loss is not finite

function decode(text, Type) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  return new Type(bytes.buffer)
}

// A value between the second and the third of four: exact for parabolas, and never bent more than
// both sides are, so that no minimum appears beside a cliff. Amat, Donat, Liandrat and Trillo,
// "Analysis of a new nonlinear subdivision scheme" (2006), https://doi.org/10.1007/s10208-004-0122-5
function bend(a, b, c, d, t) {
  const [before, after] = [a - 2 * b + c, b - 2 * c + d]
  const curve = before * after > 0 ? (2 * before * after) / (before + after) : 0
  return b + t * (c - b) - 0.5 * t * (1 - t) * curve
}

// The same for a share of the way along `count` values; beyond the ends there are none.
function along(share, count, read) {
  const at = Math.max(0, Math.min(1, share)) * (count - 1)
  const i = Math.min(count - 2, Math.floor(at))
  const known = (k) => (k >= 0 && k < count ? read(k) : NaN)
  return bend(known(i - 1), read(i), read(i + 1), known(i + 2), at - i)
}

// Colours of the bands, the lowest first.
function bands(palette) {
  return Array.from({ length: BANDS }, (_, band) => {
    const at = (band / (BANDS - 1)) * (palette.length - 1)
    const i = Math.min(palette.length - 2, Math.floor(at))
    return palette[i].map((from, k) => Math.round(from + (at - i) * (palette[i + 1][k] - from)))
  })
}

// Heights above the lowest place, row by row from the lowest y; NaN where the loss is not finite.
// The losses are smooth, their logarithms are not: a narrow valley would fall into islands. On
// logarithmic axes it is the logarithms.
function readMap(map) {
  const { least, most, rows, columns, log } = map
  const by = log ? (v) => v : (v) => 10 ** v
  const to = (code) => (code === UNKNOWN ? NaN : by(least + (code / (UNKNOWN - 1)) * (most - least)))
  const above = Float64Array.from(decode(map.heights, Uint16Array), to)
  return { ...map, above: Array.from({ length: rows }, (_, row) => above.subarray(row * columns, (row + 1) * columns)) }
}

// For each pixel, from the upper left, in which band the loss is, as a fraction.
function levelsOf({ above, columns, rows, least, most, log }, width, height) {
  const wide = above.map((row) => Float64Array.from({ length: width }, (_, x) => along((x + 0.5) / width, columns, (k) => row[k])))
  const by = log ? (v) => v : (v) => Math.log10(Math.max(v, 10 ** least))
  const level = (value) => (BANDS * (by(value) - least)) / (most - least || 1)
  return Array.from({ length: height }, (_, y) =>
    Float32Array.from({ length: width }, (_, x) => level(along(1 - (y + 0.5) / height, rows, (k) => wide[k][x]))))
}

function paintMap(canvas, map, { palette, contour, unknown }) {
  const { width, height } = canvas
  const context = canvas.getContext("2d")
  const image = context.createImageData(width, height)
  const colours = bands(palette)
  const levels = levelsOf(map, width, height)
  levels.forEach((line, row) => {
    for (let column = 0; column < width; column += 1) {
      const level = line[column]
      const at = 4 * (row * width + column)
      image.data[at + 3] = 255
      if (Number.isNaN(level)) {
        image.data.set(unknown, at)
        continue
      }
      const band = colours[Math.max(0, Math.min(BANDS - 1, Math.floor(level)))]
      // A line between two bands: as wide as a pixel, whatever the slope.
      const edge = Math.max(1, Math.min(BANDS - 1, Math.round(level)))
      const slope = Math.max(...[line[column - 1], levels[row - 1]?.[column]].map((beside) => Math.abs(level - beside) || 0), 1e-6)
      const share = 0.45 * Math.max(0, 1 - Math.abs(level - edge) / slope)
      for (let k = 0; k < 3; k += 1) image.data[at + k] = band[k] + share * (contour[k] - band[k])
    }
  })
  context.putImageData(image, 0, 0)
}

// The loss at a place given by its share of the width and of the height from below; null where the
// grid is too coarse to tell, near the lowest place.
function lossAt({ above, columns, rows, floor, low, log }, across, up) {
  const found = along(up, rows, (row) => along(across, columns, (k) => above[row][k]))
  const height = (log ? 10 ** found : found) - floor
  return height < floor ? null : height + low
}
