// Numbers of a channel as the server packs them, and as text that equals Python's.

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
