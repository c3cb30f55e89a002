import { expect } from 'chai'
import type { Command } from 'commander'
import { readdirSync, readFileSync } from 'node:fs'
import { COMMANDS, loadCommand } from '../src/cli/command-list.js'
import { pages } from './support/documentation/code-blocks.js'
import { commentsOf, messagesOf, oddPhrases, proseOf, type Passage } from './support/documentation/prose.js'
import { root } from './support/kit.js'

describe('Writing', () => {
  for (const folder of ['locales', 'scaffolds', 'templates', 'public']) {
    it(`${folder}/ has no odd phrases`, () => {
      expect(oddIn(filesIn(folder), (text) => [{ line: 1, text }])).to.deep.equal([])
    })
  }

  it('messages in src/ have no odd phrases', () => {
    expect(oddIn(filesIn('src'), messagesOf)).to.deep.equal([])
  })

  it('comments in src/ have no odd phrases', () => {
    expect(oddIn(filesIn('src'), commentsOf)).to.deep.equal([])
  })

  it('titles, texts and comments in spec/ have no odd phrases', () => {
    expect(oddIn(filesIn('spec'), (source) => [...messagesOf(source), ...commentsOf(source)])).to.deep.equal(
      [],
    )
  })

  for (const entry of COMMANDS) {
    it(`kit ${entry.name} --help has no odd phrases`, async () => {
      const texts = helpTexts(await loadCommand(entry))
      expect(oddPhrases(texts.map((text) => ({ line: 1, text })))).to.deep.equal([])
    })
  }

  for (const page of [...pages(), 'CHANGELOG.md']) {
    it(`${page} has no odd phrases`, () => {
      expect(oddIn([page], proseOf)).to.deep.equal([])
    })
  }
})

function filesIn(folder: string): string[] {
  return readdirSync(root + folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(root.length))
}

function oddIn(files: readonly string[], passagesOf: (text: string) => Passage[]): string[] {
  return files.flatMap((file) =>
    oddPhrases(passagesOf(readFileSync(root + file, 'utf8'))).map((found) => `${file}, ${found}`),
  )
}

/** The help of a command and of those below it, without the names of options. */
function helpTexts(command: Command): string[] {
  return [command.helpInformation(), ...command.commands.flatMap(helpTexts)]
}
