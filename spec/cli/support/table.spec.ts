import { expect } from 'chai'
import { table } from '../../../src/cli/support/table.js'

describe('table(head, rows)', () => {
  it('makes columns as wide as their widest cell', () => {
    expect(
      table(
        ['A', 'B'],
        [
          ['long', ''],
          ['x', 'y'],
        ],
      ),
    ).to.equal('A    | B\nlong |\nx    | y')
  })

  it('aligns the columns without a head, too', () => {
    expect(
      table(undefined, [
        ['a', 'b'],
        ['long', 'c'],
      ]),
    ).to.equal('a     b\nlong  c')
  })
})
