import type { Drawing } from './page-drawing.js'

/** A command or a comment in a terminal, and the lines that follow it. */
export interface Step {
  command?: string
  comment?: string
  output: string[]
  /** Whether the page appears after it. */
  showsPage?: boolean
}

const WIDTH = 880
const COLUMNS = 112
const LINE = 18
const CHARACTER = 7.5
const TOP = 52

const COLORS = {
  light: {
    back: '#ffffff',
    edge: '#d0d7de',
    text: '#1f2328',
    dim: '#59636e',
    green: '#116329',
    yellow: '#7d4e00',
    red: '#b3261e',
  },
  dark: {
    back: '#14181a',
    edge: '#3d444d',
    text: '#e6e4df',
    dim: '#9aa3a8',
    green: '#74d4bd',
    yellow: '#e3b341',
    red: '#ff8a80',
  },
}

/**
 * A recording of a terminal as SVG, which CSS animates once. Without animations, for example where a reader prefers reduced
 * motion, it shows the end: all lines, and the page.
 */
export function terminal(steps: readonly Step[], scheme: keyof typeof COLORS, page?: Drawing): string {
  const colors = COLORS[scheme]
  const lines: string[] = []
  let time = 0.4
  let panel = ''
  for (const { command, comment, output, showsPage } of steps) {
    if (command !== undefined) {
      const duration = Math.min(command.length * 0.03, 2)
      lines.push(typed(lines.length, command, time, duration))
      time += duration + 0.5
    } else if (comment) {
      lines.push(line(lines.length, `# ${comment}`, time, 'd'))
      time += 1.2
    }
    for (const text of output.flatMap(wrapped)) {
      lines.push(line(lines.length, text, time, colorOf(text)))
      time += 0.06
    }
    time += 0.9
    if (!showsPage || !page) continue
    panel = drawn(page, time, colors.edge)
    time += 2
  }
  const height = TOP + lines.length * LINE + 8
  const label = steps.map((step) => step.command ?? step.comment).join('; ')
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escape(`A terminal: ${label}`)}">
<style>
.term{fill:${colors.text};font:12.5px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}
.d{fill:${colors.dim}}.g{fill:${colors.green}}.y{fill:${colors.yellow}}.r{fill:${colors.red}}.c{font-weight:700}
.page{font-family:system-ui,-apple-system,'Segoe UI',sans-serif}
@media (prefers-reduced-motion:no-preference){
.s{animation:show .05s backwards}.t{animation:type backwards}.page{animation:rise .5s backwards}
@keyframes show{from{opacity:0}}@keyframes type{from{clip-path:inset(0 100% 0 0)}to{clip-path:inset(0 -5% 0 0)}}@keyframes rise{from{opacity:0;transform:translateY(12px)}}
}
</style>
<rect x=".5" y=".5" width="${WIDTH - 1}" height="${height - 1}" rx="10" fill="${colors.back}" stroke="${colors.edge}"/>
${['#ff5f57', '#febc2e', '#28c840'].map((fill, index) => `<circle cx="${22 + index * 20}" cy="20" r="6" fill="${fill}"/>`).join('')}
<g class="term">
${lines.join('\n')}
</g>
${panel}
</svg>
`
}

function typed(index: number, command: string, time: number, duration: number): string {
  const y = TOP + index * LINE
  const steps = `animation-delay:${time.toFixed(2)}s;animation-duration:${duration.toFixed(2)}s;animation-timing-function:steps(${command.length})`
  return (
    `<text class="s g" x="20" y="${y}" style="animation-delay:${(time - 0.3).toFixed(2)}s">$</text>` +
    `<text class="t c" x="${20 + 2 * CHARACTER}" y="${y}" ${lengthOf(command)} style="${steps}">${escape(command)}</text>`
  )
}

function line(index: number, text: string, time: number, color: string): string {
  const shown = text.trimStart()
  const x = 20 + (text.length - shown.length) * CHARACTER
  const place = `x="${x}" y="${TOP + index * LINE}" ${lengthOf(shown)}`
  const unbroken = escape(shown).replaceAll('  ', '\u00a0\u00a0')
  return `<text class="s ${color}" ${place} style="animation-delay:${time.toFixed(2)}s">${unbroken}</text>`
}

/** The width that a text must have with any font. */
function lengthOf(text: string): string {
  return text ? `textLength="${text.length * CHARACTER}"` : ''
}

/** The page, on the right of the first lines, which are short. */
function drawn({ width, height, svg }: Drawing, time: number, edge: string): string {
  const shown = { x: 450, y: TOP + LINE, width: WIDTH - 450 - 20 }
  const scale = shown.width / width
  return (
    `<g class="page" style="animation-delay:${time.toFixed(2)}s">` +
    `<svg x="${shown.x}" y="${shown.y}" width="${shown.width}" height="${Math.round(height * scale)}" viewBox="0 0 ${width} ${height}">${svg}</svg>` +
    `<rect x="${shown.x - 0.5}" y="${shown.y - 0.5}" width="${shown.width + 1}" height="${Math.round(height * scale) + 1}" rx="6" fill="none" stroke="${edge}" stroke-width="1.5"/></g>`
  )
}

/** The first word of a line says what happened. */
function colorOf(text: string): string {
  const [word = ''] = text.trim().split(' ')
  const colors: Record<string, string> = { create: 'g', update: 'y', delete: 'r', '…': 'd' }
  return colors[word] ?? (/\berror\b/.test(text) ? 'r' : '')
}

function wrapped(text: string): string[] {
  return text.match(new RegExp(`.{1,${COLUMNS}}`, 'g')) ?? ['']
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
