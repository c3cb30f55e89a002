import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import * as framework from '../src/index.js'
import * as auth from '../src/auth/index.js'
import * as extension from '../src/extension.js'
import * as mail from '../src/mail/index.js'
import * as testing from '../src/testing/index.js'
import { root } from './support/kit.js'

describe('docs/reference', () => {
  const pages = {
    'resource-kit/README': framework,
    'resource-kit/namespaces/errors': framework.errors,
    'resource-kit/auth': auth,
    'resource-kit/extension': extension,
    'resource-kit/mail': mail,
    'resource-kit/testing': testing,
  }
  for (const [page, module] of Object.entries(pages)) {
    it(`contains every export of ${page}`, () => {
      const text = readFileSync(join(root, 'docs/reference', `${page}.md`), 'utf8')
      const missing = Object.keys(module).filter(
        (name) => !new RegExp(`^(### .*\\b${name}\\b|- \\[${name}\\])`, 'm').test(text),
      )
      expect(missing).to.deep.equal([])
    })

    it(`links from each name in ${page} to the heading of that name`, () => {
      const text = readFileSync(join(root, 'docs/reference', `${page}.md`), 'utf8')
      const headings = new Map(
        [...text.matchAll(/<a id="([^"]+)"><\/a>\s+(?:#+ (.+)|`(.+?)`)/g)].map(
          ([, id, heading, property]) => [id, heading ?? property ?? ''],
        ),
      )
      const links = [...text.matchAll(/\[`(\w+)`\]\(#([^)]+)\)/g)]
      const wrong = links.filter(
        ([, name = '', id]) => !new RegExp(`\\b${name}\\b`, 'i').test(headings.get(id) ?? ''),
      )
      expect(links).to.not.have.length(0)
      expect(wrong.map(([link]) => link)).to.deep.equal([])
    })
  }

  it('cites only documents that readers have', () => {
    for (const page of Object.keys(pages)) {
      const text = readFileSync(join(root, 'docs/reference', `${page}.md`), 'utf8')
      expect(text.replaceAll(/`[^`]*`|"[^"]*"/g, '')).to.not.match(/\bcontract\b/)
    }
  })
})
