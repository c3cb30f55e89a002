import { expect } from 'chai'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { root } from '../support/kit.js'

interface ProseLint {
  findings(text: string): [line: number, message: string][]
  namesFirst(text: string): string
  filesToRead(): [file: string, passagesOf: unknown][]
}

describe('npm run lint:prose', () => {
  let lint: ProseLint

  before(async () => {
    lint = await import(pathToFileURL(join(root, 'scripts/lint-prose.js')).href)
  })

  for (const [text, correct] of [
    ['Send the header `Link`.', 'Send the `Link` header.'],
    ['A field `items` is needed.', 'An `items` field is needed.'],
    ['It is in the\ncolumn `user_id`.', 'It is in the\n`user_id` column.'],
    ['/**\n * Sets the\n * option\n * `unique`.', '/**\n * Sets the\n * `unique`\n * option.'],
  ] as const) {
    it(`writes ${JSON.stringify(correct)} for ${JSON.stringify(text)}`, () => {
      expect(lint.namesFirst(text)).to.equal(correct)
      expect(lint.findings(text)).to.have.length(1)
      expect(lint.findings(correct)).to.deep.equal([])
    })
  }

  it('does not join a heading to the paragraph below', () => {
    expect(lint.findings('## Undo a command\n\n`kit destroy` deletes files.')).to.deep.equal([])
  })

  it('finds an odd phrase, even across two lines, and says what to write', () => {
    expect(lint.findings('Correct.\nThe page is already\nthere.')).to.deep.equal([
      [2, '"is already there": write "already exists"'],
    ])
  })

  it('finds a sentence that begins like a question', () => {
    expect(lint.findings('What is listed is allowed.').map(([line]) => line)).to.deep.equal([1])
    expect(lint.findings('What is allowed?')).to.deep.equal([])
  })

  it('reads files at any depth of each folder', () => {
    const files = lint.filesToRead().map(([file]) => file)
    expect(files).to.include.members([
      'README.md',
      'docs/lists.md',
      'src/routing/scope.ts',
      'spec/support/kit.ts',
      'assets/locales/kit.de.yaml',
      'scaffolds/auth/api/spec/actions/account.spec.ts.ejs',
    ])
  })

  it('ignores inline code', () => {
    expect(lint.findings('Call `anew()`.')).to.deep.equal([])
  })
})
