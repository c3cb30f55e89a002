import { expect } from 'chai'
import { humanize } from '../../src/naming/words.js'

describe('humanize(field)', () => {
  it('returns readable words', () => {
    expect(['title', 'published_at', 'author_id'].map(humanize)).to.deep.equal([
      'Title',
      'Published at',
      'Author',
    ])
  })

  it('writes acronyms in capitals, and keeps words that only resemble them', () => {
    const rows = {
      id: 'ID',
      isbn: 'ISBN',
      api_url: 'API URL',
      html_body: 'HTML body',
      ids: 'IDs',
      urls: 'URLs',
      css: 'CSS',
      url_id: 'URL',
      idea: 'Idea',
      curl: 'Curl',
      tips: 'Tips',
    }
    for (const [field, words] of Object.entries(rows)) expect(humanize(field)).to.equal(words)
  })
})
