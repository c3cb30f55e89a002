import { expect } from 'chai'
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
})
