import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'

const css = readFileSync(join(import.meta.dirname, '../../../examples/blog/public/application.css'), 'utf8')

/** The colors of a block `:root { --ink: #1d2326; ... }`, by name. */
const [light = {}, dark = {}] = [...css.matchAll(/:root \{([^}]*)\}/g)].map(([, block = '']) =>
  Object.fromEntries([...block.matchAll(/--([\w-]+): (#\w{6})/g)].map(([, name, color]) => [name, color])),
)

/** The relative luminance of a color `#rrggbb` (WCAG 2.2). */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

const text = 4.5
const shape = 3

const rows: Array<[color: string, background: string, least: number]> = [
  ['ink', 'paper', text],
  ['ink', 'surface', text],
  ['ink', 'accent-soft', text],
  ['ink', 'danger-soft', text],
  ['muted', 'paper', text],
  ['muted', 'surface', text],
  ['accent', 'paper', text],
  ['accent', 'surface', text],
  ['accent', 'accent-soft', text],
  ['accent-strong', 'surface', text],
  ['on-accent', 'accent', text],
  ['on-accent', 'accent-strong', text],
  ['danger', 'paper', text],
  ['danger', 'surface', text],
  ['danger', 'danger-soft', text],
  ['ink', 'warning-soft', text],
  ['ink', 'info-soft', text],
  ['warning', 'warning-soft', text],
  ['warning', 'paper', text],
  ['info', 'info-soft', text],
  ['info', 'paper', text],
  ['field-line', 'paper', shape],
  ['field-line', 'surface', shape],
]

for (const [scheme, colors] of Object.entries({ light, dark })) {
  describe(`The ${scheme} colors`, () => {
    for (const [color, background, least] of rows) {
      it(`have a contrast of ${least}:1 between ${color} and ${background}`, () => {
        expect(contrast(colors[color] ?? '', colors[background] ?? '')).to.be.at.least(least)
      })
    }
  })
}
