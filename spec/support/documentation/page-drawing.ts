import type { Page } from 'playwright-core'

/** A page as SVG elements, in its own pixels. */
export interface Drawing {
  width: number
  height: number
  svg: string
}

/** Draws the boxes and the lines of text that the page shows. Letters stay letters, so the drawing is small and sharp. */
export async function drawPage(page: Page): Promise<Drawing> {
  return page.evaluate<Drawing>(`(${draw.toString()})()`)
}

interface Box {
  x: number
  y: number
  width: number
  height: number
}

/** The parts of a browser that `draw` uses. */
interface Text {
  nodeType: number
  data: string
}
interface Element {
  scrollWidth: number
  scrollHeight: number
  childNodes: Iterable<Text>
  getBoundingClientRect(): Box
  querySelectorAll(selector: string): Iterable<Element>
}
interface Range {
  setStart(node: Text, offset: number): void
  setEnd(node: Text, offset: number): void
  getClientRects(): ArrayLike<Box>
}
interface Window {
  document: { body: Element; documentElement: Element; createRange(): Range }
  getComputedStyle(element: Element): Record<string, string>
}

/** Runs in the browser. */
function draw(): Drawing {
  const { document, getComputedStyle } = globalThis as unknown as Window
  const pixels = (length = ''): number => parseFloat(length) || 0
  const shapes: string[] = []
  const transparent = 'rgba(0, 0, 0, 0)'
  const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const round = (value: number): number => Math.round(value * 10) / 10
  for (const element of document.body.querySelectorAll('*')) {
    const style = getComputedStyle(element)
    const box = element.getBoundingClientRect()
    if (box.width < 2 || style['clip'] !== 'auto' || style['visibility'] === 'hidden') continue
    const at = `x="${round(box.x)}" y="${round(box.y)}" width="${round(box.width)}"`
    const [top = 0, right = 0, bottom = 0, left = 0] = ['Top', 'Right', 'Bottom', 'Left'].map((side) =>
      pixels(style[`border${side}Width`]),
    )
    const isFramed = Math.min(top, right, bottom, left) > 0
    const fill = style['backgroundColor'] === transparent ? 'none' : style['backgroundColor']
    if (fill !== 'none' || isFramed) {
      const stroke = isFramed ? ` stroke="${style['borderTopColor']}"` : ''
      const radius = pixels(style['borderTopLeftRadius'])
      shapes.push(`<rect ${at} height="${round(box.height)}" rx="${radius}" fill="${fill}"${stroke}/>`)
    } else {
      const edge = (y: number, color?: string): string =>
        `<path d="M${round(box.x)} ${round(y)}h${round(box.width)}" stroke="${color}"/>`
      if (top) shapes.push(edge(box.y, style['borderTopColor']))
      if (bottom) shapes.push(edge(box.y + box.height, style['borderBottomColor']))
    }
    for (const node of element.childNodes) {
      if (node.nodeType !== 3 || !node.data.trim()) continue
      const range = document.createRange()
      let start = 0
      const rectanglesUntil = (end: number): ArrayLike<Box> => {
        range.setStart(node, start)
        range.setEnd(node, end)
        return range.getClientRects()
      }
      // A line ends where the rectangles of the text become two.
      for (let end = 1; end <= node.data.length; end++) {
        if (end < node.data.length && rectanglesUntil(end + 1).length < 2) continue
        const line = rectanglesUntil(end)[0]
        const text = node.data.slice(start, end).trim()
        start = end
        if (!text || !line) continue
        const size = pixels(style['fontSize'])
        const weight = Number(style['fontWeight']) > 500 ? ' font-weight="700"' : ''
        const underline = style['textDecorationLine'] === 'underline' ? ' text-decoration="underline"' : ''
        const place = `x="${round(line.x)}" y="${round(line.y + line.height / 2 + size * 0.36)}"`
        const look = `textLength="${round(line.width)}" font-size="${size}"${weight} fill="${style['color']}"${underline}`
        shapes.push(`<text ${place} ${look}>${escape(text)}</text>`)
      }
    }
  }
  const { scrollWidth: width, scrollHeight: height } = document.documentElement
  const paper = getComputedStyle(document.body)['backgroundColor']
  return {
    width,
    height,
    svg: `<rect width="${width}" height="${height}" fill="${paper}"/>${shapes.join('')}`,
  }
}
