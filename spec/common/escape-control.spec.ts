import { Readable } from 'node:stream'
import { expect } from 'chai'
import { BuildFailed, CommandError } from '../../src/command-errors.js'
import { explain } from '../../src/cli/support/explain.js'
import { Questions } from '../../src/cli/support/questions.js'
import { table } from '../../src/cli/support/table.js'
import { toJson } from '../../src/cli/support/output.js'
import { escapeControl } from '../../src/common/escape-control.js'

/** An escape sequence, a C1 control, a reversed direction, a separator of lines, and a tag outside of the first plane. */
const hostile = 'a\u001b[2J\u009b\u202e\u2028\u{e0001}\nz'
const escaped = 'a\\u001b[2J\\u009b\\u202e\\u2028\\udb40\\udc01\\u000az'

describe('escapeControl(text)', () => {
  it('escapes what a terminal would execute or hide, and keeps all other characters', () => {
    expect(escapeControl(hostile)).to.equal(escaped)
    expect(escapeControl('Grüße, 東京 👋 "a\\b"')).to.equal('Grüße, 東京 👋 "a\\b"')
  })

  it('is applied to the cells of tables', () => {
    expect(table(['ERROR'], [[hostile]])).to.equal(`ERROR\n${escaped}`)
  })

  it('is applied to the JSON of commands, which stays the same JSON', () => {
    const json = toJson({ error: hostile })
    expect(json).to.match(/^\{\n {2}"error": "[ -~]+"\n\}$/)
    expect(JSON.parse(json)).to.deep.equal({ error: hostile })
  })

  const lines = escaped.replace('\\u000a', '\n')

  it('is applied to the errors of commands, except for the line breaks and the colors of the compiler', () => {
    expect(explain(new CommandError(hostile))).to.equal(lines)
    expect(explain(new Error(hostile))).to.include(lines)
    expect(explain(new BuildFailed('\u001b[31merror\u001b[0m'))).to.include('\u001b[31merror\u001b[0m')
  })

  it('is applied to the questions of commands', async () => {
    let written = ''
    const questions = new Questions(Readable.from(['y\n']), { write: (text) => void (written += text) })
    expect(await questions.confirm(`Delete ${hostile}?`)).to.equal(true)
    await questions.close()
    expect(written).to.include(`Delete ${lines}? (y/n) `)
  })
})
