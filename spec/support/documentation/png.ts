import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')

/** A screenshot with at most 256 colors, which takes a third of the space. Pages have few colors beside the edges of letters. */
export function withFewColors(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png)
  const palette = paletteOf(pixels)
  const nearest = new Map<number, number>()
  const rows = Buffer.alloc((width + 1) * height)
  for (const [index, color] of pixels.entries()) {
    const entry = nearest.get(color) ?? nearestIn(palette, color)
    nearest.set(color, entry)
    rows[Math.floor(index / width) * (width + 1) + 1 + (index % width)] = entry
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flatMap(partsOf))),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** The colors of a screenshot of Chromium: 8 bits for each of red, green and blue, and perhaps alpha, not interlaced. */
function decode(png: Buffer): { width: number; height: number; pixels: Uint32Array } {
  const [width, height, type] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25]]
  const size = type === 6 ? 4 : 3
  const data: Buffer[] = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  }
  const bytes = inflateSync(Buffer.concat(data))
  const stride = width * size
  let above: Uint8Array = new Uint8Array(stride)
  const pixels = new Uint32Array(width * height)
  for (let y = 0; y < height; y++) {
    const start = y * (stride + 1)
    const row = unfilter(bytes[start] ?? 0, bytes.subarray(start + 1, start + 1 + stride), above, size)
    for (let x = 0; x < width; x++) {
      const [red = 0, green = 0, blue = 0] = row.subarray(x * size, x * size + 3)
      pixels[y * width + x] = (red << 16) | (green << 8) | blue
    }
    above = row
  }
  return { width, height, pixels }
}

/** The bytes of a row, which PNG stores as differences to their neighbors. */
function unfilter(filter: number, row: Uint8Array, above: Uint8Array, size: number): Uint8Array {
  const result = new Uint8Array(row.length)
  for (const [index, byte] of row.entries()) {
    const left = result[index - size] ?? 0
    const up = above[index] ?? 0
    const corner = index < size ? 0 : (above[index - size] ?? 0)
    result[index] = byte + [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]!
  }
  return result
}

function paeth(left: number, up: number, corner: number): number {
  const estimate = left + up - corner
  const distances = [left, up, corner].map((value) => Math.abs(estimate - value))
  return [left, up, corner][distances.indexOf(Math.min(...distances))]!
}

/** The most frequent colors. A color that another one nearly equals has no entry. */
function paletteOf(pixels: Uint32Array): number[] {
  const counts = new Map<number, number>()
  for (const color of pixels) counts.set(color, (counts.get(color) ?? 0) + 1)
  const colors = [...counts].toSorted(([, one], [, other]) => other - one).map(([color]) => color)
  if (colors.length <= 256) return colors
  const palette: number[] = []
  for (const color of colors) {
    if (palette.length < 256 && palette.every((other) => distance(other, color) > 48)) palette.push(color)
  }
  return palette
}

function nearestIn(palette: number[], color: number): number {
  let best = 0
  for (const [index, other] of palette.entries()) {
    if (distance(other, color) < distance(palette[best]!, color)) best = index
  }
  return best
}

function distance(one: number, other: number): number {
  const [red, green, blue] = partsOf(one)
  const [otherRed, otherGreen, otherBlue] = partsOf(other)
  return (red - otherRed) ** 2 + (green - otherGreen) ** 2 + (blue - otherBlue) ** 2
}

function partsOf(color: number): [number, number, number] {
  return [color >> 16, (color >> 8) & 255, color & 255]
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}
