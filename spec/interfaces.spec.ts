import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { root } from './support/kit.js'

/** The interfaces that everything new is tempted to grow, with the number of members that one can still survey. */
const limits = [
  ['Engine', 'database/engines/engine.ts', 38],
  ['MiddlewareOptions', 'context.ts', 6],
] as const

describe('An interface', () => {
  for (const [name, file, limit] of limits)
    it(`${name} has at most ${limit} members`, () => {
      const source = readFileSync(join(root, 'src', file), 'utf8')
      const body = source.split(`export interface ${name} {\n`)[1]?.split('\n}\n')[0] ?? ''
      const members = body.match(/^ {2}(?:readonly )?\w+\??[(:]/gm) ?? []
      expect(members.length).to.be.within(1, limit)
    })
})
