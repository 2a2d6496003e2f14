// The arithmetic of one position, without the page: a channel's numbers as the server packs them, as
// text that equals Python's, and what a layer reads at a position and makes of it.

// An array as { shape, values } from { shape, data }: float32, deflated, in base64.
async function unpack(packed) {
  if (!packed) return null
  const bytes = Uint8Array.from(atob(packed.data), (letter) => letter.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))
  return { shape: packed.shape, values: new Float32Array(await new Response(stream).arrayBuffer()) }
}

// At most five significant digits, as `number` in explorer/trace/text.py.
function number(value, digits = 5) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf"
  if (value === 0) return "0"
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e").map(Number)
  if (exponent < -4 || exponent >= digits) return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`
  const text = value.toFixed(digits - 1 - exponent)
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text
}

// How many decimals give the largest number so many digits that count.
function decimalsFor(largest, digits) {
  return largest > 0 && Number.isFinite(largest) ? Math.min(Math.max(digits - 1 - Math.floor(Math.log10(largest)), 0), 6) : 1
}

function fixed(value, decimals) {
  const text = value.toFixed(decimals)
  return Number(text) === 0 ? text.replace("-", "") : text
}

function largestOf(values) {
  let largest = 0
  for (const value of values) if (Math.abs(value) > largest && value !== Infinity && value !== -Infinity) largest = Math.abs(value)
  return largest
}

// The window over one input map (`values`, `width` wide): rows of { value, inside }. In the padding
// `inside` is false; the value there is 0, or one from within for other modes.
function windowAt(values, width, rows, columns, row, column) {
  return rows.positions[row].map((r) => {
    const from = rows.sources[r + rows.before]
    return columns.positions[column].map((c) => {
      const at = columns.sources[c + columns.before]
      const outside = from < 0 || at < 0
      const inside = !outside && from === r && at === c
      return { row: r, column: c, value: outside ? 0 : values[from * width + at], inside, empty: outside }
    })
  })
}

// A convolution: bias + the products of each input channel + rest = the value.
function convolve(a, row, column) {
  const [count, height, width] = a.inputs.shape
  const [, tall, wide] = a.kernels.shape
  const { values } = a.inputs
  const read = (reads, at) => reads.positions[at].map((p, i) => [reads.sources[p + reads.before], reads.taps[at][i]]).filter(([from]) => from >= 0)
  const [down, across] = [read(a.rows, row), read(a.columns, column)]
  const sums = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    const [image, kernel] = [i * height * width, i * tall * wide]
    for (const [from, u] of down) for (const [at, v] of across) sums[i] += values[image + from * width + at] * a.kernels.values[kernel + u * wide + v]
  }
  const rest = a.rest ? a.rest.values[row * a.rest.shape[1] + column] : 0
  return { sums, rest, total: sums.reduce((all, sum) => all + sum, a.bias + rest) }
}

// Window, kernel and products of the kept input channel number `index`.
function products(a, index, row, column) {
  const [, height, width] = a.inputs.shape
  const [, tall, wide] = a.kernels.shape
  const cells = windowAt(a.inputs.values.subarray(index * height * width), width, a.rows, a.columns, row, column)
  const [down, across] = [a.rows.taps[row], a.columns.taps[column]]
  const kernel = cells.map((line, u) => line.map((_, v) => ({ value: a.kernels.values[index * tall * wide + down[u] * wide + across[v]], inside: true })))
  const product = cells.map((line, u) => line.map((cell, v) => ({ value: cell.value * kernel[u][v].value, inside: cell.inside, empty: cell.empty })))
  return { cells, kernel, product }
}

// Pooling: the window, and its greatest value with its place, or its sum and what that is divided by.
function pool(a, row, column) {
  const cells = windowAt(a.inputs.values, a.inputs.shape[2], a.rows, a.columns, row, column)
  const inside = cells.flat().filter((cell) => !cell.empty)
  const best = inside.reduce((most, cell) => (cell.value > most.value ? cell : most), inside[0])
  const sum = inside.reduce((all, cell) => all + cell.value, 0)
  const divisor = (a.row_counts[row] ?? 1) * (a.column_counts[column] ?? 1)
  return { cells, best, sum, divisor }
}

// Mean and variance at a position: one number for the whole map, or one for each position.
function statisticsAt(a, row, column) {
  const at = ({ shape, values }) => values[(row % shape[0]) * shape[1] + (column % shape[1])]
  return { mean: at(a.mean), variance: at(a.variance) }
}
