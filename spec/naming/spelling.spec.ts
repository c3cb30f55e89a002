import { expect } from 'chai'
import { isOneLetterOff, nearest } from '../../src/naming/spelling.js'

describe('isOneLetterOff(word, other)', () => {
  const pairs = ['lsit list', 'ist list', 'lisst list', 'lost list', 'List list', 'lists list', 'wen new']
  for (const pair of pairs) {
    const [word = '', other = ''] = pair.split(' ')
    it(`is ${word !== 'wen'} for ${word} and ${other}`, () => {
      expect(isOneLetterOff(word, other)).to.equal(word !== 'wen')
      expect(isOneLetterOff(other, word)).to.equal(word !== 'wen')
    })
  }

  it('is false for the same word', () => expect(isOneLetterOff('list', 'list')).to.equal(false))
})

describe('nearest(word, known)', () => {
  it('returns the most similar word, if one is similar enough', () => {
    expect(nearest('postPaht', ['postPath', 'commentsPath'])).to.equal('postPath')
    expect(nearest('psotPath', ['rootPath', 'postsPath', 'postPath'])).to.equal('postPath')
    expect(nearest('xyz', ['postPath', 'commentsPath'])).to.equal(undefined)
  })
})
