import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const source = new URL('../../src/', import.meta.url)

/** The files that a module imports, also later, and the packages. */
function importsOf(entry: string): Set<string> {
  const found = new Set<string>()
  const visit = (url: URL): void => {
    const name = relative(fileURLToPath(source), fileURLToPath(url))
    if (found.has(name)) return
    found.add(name)
    for (const [, specifier = ''] of readFileSync(url, 'utf8').matchAll(
      /(?:from|import)\s*\(?\s*'([^']+)'/g,
    )) {
      if (specifier.startsWith('.')) visit(new URL(specifier, url))
      else found.add(specifier)
    }
  }
  visit(new URL(entry, source))
  return found
}

describe('An application without accounts and mails', () => {
  for (const entry of ['index.js', 'testing/index.js']) {
    it(`loads nothing of them with ${entry}`, () => {
      const all = [...importsOf(entry)]
      expect(all.length).to.be.greaterThan(50)
      expect(all.filter((name) => /^(auth|mail)\/|nodemailer/.test(name))).to.deep.equal([])
    })
  }

  it('would load them with their own entries', () => {
    expect(importsOf('auth/index.js')).to.include('auth/passwords.js').and.not.include('nodemailer')
    expect(importsOf('mail/index.js')).to.include('nodemailer').and.not.include('auth/index.js')
  })
})
