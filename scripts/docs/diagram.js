import { renderMermaidSVG } from 'beautiful-mermaid'

const drawn = new Map()

/** A Mermaid diagram as SVG, whose colors and font come from theme/style.css. */
export function diagram(code) {
  if (!drawn.has(code)) drawn.set(code, draw(code))
  return drawn.get(code)
}

function draw(code) {
  const [svg, names] = code.startsWith('gantt') ? gantt(code) : [drawing(code), boxesOf(code)]
  const label = escape(`Diagram: ${[...new Set(names)].join('; ')}`)
  return `<div class="diagram" tabindex="0" role="img" aria-label="${label}">${svg}</div>\n`
}

function drawing(code) {
  const prefix = `diagram-${drawn.size + 1}`
  return (
    renderMermaidSVG(code, { transparent: true })
      // Its style sheet loads a font from another host.
      .replace(/<style>.*?<\/style>\s*/s, '')
      .replace(/ style="[^"]*"/, '')
      .replaceAll(/id="(arrowhead[\w-]*)"/g, `id="${prefix}-$1"`)
      .replaceAll(/url\(#(arrowhead[\w-]*)\)/g, `url(#${prefix}-$1)`)
      .replaceAll(/\n\s*/g, '')
  )
}

/** The names of the boxes, for readers who cannot see the diagram. */
function boxesOf(code) {
  return [...code.matchAll(/[\w)\]]\s*(?:\[\(?|\{|\()"?([^\])}"]+)/g)].map(([, name]) => name)
}

/** Lines `name :start, end` of `gantt`, which beautiful-mermaid does not draw: a bar for each, below its section. */
function gantt(code) {
  const rows = [...code.matchAll(/^ *(?:section (.+)|(\S.*?) *:(\d+), *(\d+))$/gm)]
  const end = Math.max(...rows.map(([, , , , to = 0]) => Number(to)))
  const [left, width, height] = [200, 640, 32]
  const x = (time) => left + (time / end) * (width - left)
  const shapes = rows.map(([, section, name, from, to], index) => {
    const y = index * height
    const text = `y="${y + 21}" font-size="14" fill="var(--_text)"`
    if (section) return `<text x="0" ${text} font-weight="600">${escape(section)}</text>`
    const bar = `x="${x(from)}" y="${y + 6}" width="${x(to) - x(from)}" height="20" rx="3"`
    return `<text x="0" ${text}>${escape(name)}</text><rect ${bar} fill="var(--vp-c-brand-3)"/>`
  })
  const size = `viewBox="0 0 ${width} ${rows.length * height}" width="${width}"`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${shapes.join('')}</svg>`,
    rows.map(([, section, name, from, to]) => section ?? `${name} from ${from} to ${to} ms`),
  ]
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
