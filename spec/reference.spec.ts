import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import * as framework from '../src/index.js'
import * as testing from '../src/testing/index.js'
import { root } from './support/kit.js'

describe('docs/reference', () => {
  for (const [page, module] of Object.entries({
    'resource-kit': framework,
    'resource-kit/testing': testing,
  })) {
    it(`has everything that ${page} exports`, () => {
      const text = readFileSync(join(root, 'docs/reference', `${page}.md`), 'utf8')
      const missing = Object.keys(module).filter(
        (name) => !new RegExp(`^### .*\\b${name}\\b`, 'm').test(text),
      )
      expect(missing).to.deep.equal([])
    })
  }
})
