/** Bars in groups: the same series in each. */
export interface BarChart {
  title: string
  note: string
  series: string[]
  groups: Array<{ name: string; values: number[] }>
}

/** Lines over a logarithmic axis. */
export interface LineChart {
  title: string
  xLabel: string
  yLabel: string
  series: Array<{ name: string; points: Array<[x: number, y: number]> }>
}

const colors = ['#1f6feb', '#8c959f', '#d0a215', '#2da44e', '#bf3989', '#6639ba']
const width = 820

/** Draws horizontal bars. */
export function bars({ title, note, series, groups }: BarChart): string {
  const [left, top, thick, gap] = [150, 84, 13, 14]
  const most = Math.max(...groups.flatMap(({ values }) => values))
  const scale = (width - left - 80) / most
  const each = series.length * thick + gap
  const height = top + groups.length * each + 12
  const rows = groups.flatMap(({ name, values }, group) => {
    const y = top + group * each
    const label = text(left - 8, y + (series.length * thick) / 2 + 4, name, 'text-anchor="end"')
    return [
      label,
      ...values.map((value, index) => bar(left, y + index * thick, thick - 2, value, scale, index)),
    ]
  })
  const legend = series.flatMap((name, index) =>
    legendEntry(left + (index % 3) * 220, 46 + 16 * Math.floor(index / 3), name, index),
  )
  return svg(height, [heading(title), text(24, height - 4, note, 'font-size="10"'), ...legend, ...rows])
}

function bar(x: number, y: number, height: number, value: number, scale: number, index: number): string {
  const length = Math.max(1, value * scale)
  return (
    `<rect x="${x}" y="${y}" width="${length.toFixed(1)}" height="${height}" fill="${colors[index]}"/>` +
    text(x + length + 5, y + height - 1, String(Math.round(value)), 'font-size="10"')
  )
}

/** Draws lines, with both axes logarithmic. */
export function lines({ title, xLabel, yLabel, series }: LineChart): string {
  const [left, right, top, bottom, height] = [70, 30, 84, 50, 380]
  const xs = axis(
    series.flatMap(({ points }) => points.map(([x]) => x)),
    left,
    width - right,
  )
  const ys = axis(
    series.flatMap(({ points }) => points.map(([, y]) => y)),
    height - bottom,
    top,
  )
  const grid = [
    ...xs.ticks.map((x) => gridLine(xs.at(x), top, xs.at(x), height - bottom)),
    ...xs.ticks.map((x) =>
      text(xs.at(x), height - bottom + 16, short(x), 'text-anchor="middle" font-size="11"'),
    ),
    ...ys.ticks.map((y) => gridLine(left, ys.at(y), width - right, ys.at(y))),
    ...ys.ticks.map((y) => text(left - 8, ys.at(y) + 4, short(y), 'text-anchor="end" font-size="11"')),
  ]
  const drawn = series.flatMap(({ name, points }, index) => [
    `<polyline fill="none" stroke="${colors[index]}" stroke-width="2" points="${points.map(([x, y]) => `${xs.at(x).toFixed(1)},${ys.at(y).toFixed(1)}`).join(' ')}"/>`,
    ...points.map(
      ([x, y]) =>
        `<circle cx="${xs.at(x).toFixed(1)}" cy="${ys.at(y).toFixed(1)}" r="3" fill="${colors[index]}"/>`,
    ),
    ...legendEntry(left + (index % 4) * 180, 46 + 16 * Math.floor(index / 4), name, index),
  ])
  const labels = [
    text((left + width - right) / 2, height - 12, xLabel, 'text-anchor="middle" font-size="12"'),
    text(24, top - 6, yLabel, 'font-size="12"'),
  ]
  return svg(height, [heading(title), ...grid, ...drawn, ...labels])
}

interface Axis {
  ticks: number[]
  at(value: number): number
}

/** A logarithmic axis from the power of ten (or half of one) beneath the least value to that above the most. */
function axis(values: number[], from: number, to: number): Axis {
  const low = Math.floor(Math.log10(Math.min(...values)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))
  const ticks = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index))
  return { ticks, at: (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from) }
}

function legendEntry(x: number, y: number, name: string, index: number): string[] {
  return [
    `<rect x="${x}" y="${y}" width="10" height="10" fill="${colors[index]}"/>`,
    text(x + 15, y + 9, name, 'font-size="12"'),
  ]
}

function gridLine(x1: number, y1: number, x2: number, y2: number): string {
  const [a, b, c, d] = [x1, y1, x2, y2].map((it) => it.toFixed(1))
  return `<line x1="${a}" y1="${b}" x2="${c}" y2="${d}" stroke="#d0d7de" stroke-width="1"/>`
}

function heading(title: string): string {
  return text(24, 30, title, 'font-size="16" font-weight="bold"')
}

function short(value: number): string {
  if (value >= 1e6) return `${value / 1e6}M`
  return value >= 1000 ? `${value / 1000}k` : String(Number(value.toPrecision(3)))
}

function text(x: number, y: number, content: string, attributes = ''): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${escaped}</text>`
}

function svg(height: number, parts: string[]): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13" fill="#24292f">\n` +
    `<rect width="${width}" height="${height}" fill="#ffffff"/>\n${parts.join('\n')}\n</svg>\n`
  )
}
