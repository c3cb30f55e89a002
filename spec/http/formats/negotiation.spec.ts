import { expect } from 'chai'
import { formats, type FormatName as Format } from '../../../src/http/formats/formats.js'
import { negotiate } from '../../../src/http/formats/negotiation.js'

type Row = [accept: string | undefined, response: Format | undefined]

/** The format of the response to an Accept header, if all three formats are offered. */
function choose(
  accept: string | undefined,
  {
    body,
    own = 'html',
    offered = formats,
  }: { body?: Format; own?: Format; offered?: readonly Format[] } = {},
): Format | undefined {
  return negotiate(offered, { accept, body, default: own })
}

function table(rows: Row[], options?: Parameters<typeof choose>[1]): void {
  for (const [accept, response] of rows) {
    it(`${accept === undefined ? 'no Accept' : `"${accept}"`}: ${response ?? 'not acceptable'}`, () => {
      expect(choose(accept, options)).to.equal(response)
    })
  }
}

describe('negotiate(offered, preferences)', () => {
  describe('in a web application', () => {
    table([
      [undefined, 'html'],
      ['', 'html'],
      ['*/*', 'html'],
      ['*/*;q=0.1', 'html'],
      ['*/*, */*', 'html'],
      ['*/*;q=0', undefined],
      ['text/html', 'html'],
      ['application/xhtml+xml', 'html'],
      ['application/json', 'json'],
      ['application/problem+json', 'json'],
      ['application/xml', 'xml'],
      ['text/xml', 'xml'],
      ['application/problem+xml', 'xml'],
      ['APPLICATION/JSON', 'json'],
      ['application/json; charset=utf-8', 'json'],
      ['application/json;charset=utf-8;q=0.5, text/html;q=0.4', 'json'],
      ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'html'],
      ['application/json, */*', 'html'],
      ['application/json, */*;q=0.9', 'json'],
      ['application/json, text/plain, */*', 'html'],
      ['application/xml, application/json;q=0.9', 'xml'],
      ['application/json;q=0.2, application/xml;q=0.3', 'xml'],
    ])
  })

  describe('prefers html, then json, then xml, on a tie', () => {
    table([
      ['application/xml, application/json', 'json'],
      ['application/xml, application/json, text/html', 'html'],
      ['application/*', 'json'],
      ['application/*;q=0.5, text/*;q=0.5', 'html'],
      ['text/*', 'html'],
      ['application/xml;q=0.5, application/json;q=0.50', 'json'],
    ])
  })

  describe('reads application/* as JSON, then XML, and never as HTML', () => {
    table([['application/*, application/json;q=0', 'xml']])
    table([['application/*', 'xml']], { offered: ['html', 'xml'] })
  })

  describe('lets the more specific range decide', () => {
    table([
      ['*/*, text/html;q=0', 'json'],
      ['*/*, text/html;q=0, application/json;q=0', 'xml'],
      ['application/*, application/json;q=0.1, text/html;q=0.2', 'xml'],
      ['text/*;q=0.3, text/html;q=0.7, application/json;q=0.5', 'html'],
      ['*/*;q=0.5, application/xml', 'xml'],
    ])
  })

  describe('selects nothing with the quality 0', () => {
    table([
      ['application/json;q=0', undefined],
      ['application/json;q=0, application/xml;q=0.0', undefined],
      ['application/json;q=0, application/xml;q=0.001', 'xml'],
      ['image/png', undefined],
      ['text/plain, image/*', undefined],
    ])
  })

  describe('reads the valid parts of a malformed header', () => {
    table([
      [',', 'html'],
      [',,application/json,,', 'json'],
      [';q=1', 'html'],
      ['application/json;q=high', undefined],
      ['application/json;q=5', 'json'],
      ['application/json;q=-1', undefined],
      ['application/json;q=NaN, application/xml', 'xml'],
      ['application/json;q=', undefined],
      ['application/json ; Q=0.3 , application/xml ; q=0.4', 'xml'],
      ['json', undefined],
      ['application', undefined],
      ['/', undefined],
      ['*', undefined],
      ['application/json/xml', undefined],
      ['\u0000', undefined],
      ['__proto__, constructor', undefined],
    ])
  })

  describe('selects JSON for a JSON body if Accept allows several formats', () => {
    table(
      [
        [undefined, 'json'],
        ['*/*', 'json'],
        ['text/html', 'html'],
        ['application/*', 'json'],
      ],
      { body: 'json' },
    )
  })

  describe('selects XML for an XML body if Accept allows several formats', () => {
    table(
      [
        [undefined, 'xml'],
        ['*/*', 'xml'],
        ['application/json', 'json'],
      ],
      { body: 'xml' },
    )
  })

  describe('in an API application', () => {
    table(
      [
        [undefined, 'json'],
        ['*/*', 'json'],
        ['text/html', 'html'],
        ['application/xml', 'xml'],
      ],
      { own: 'json' },
    )
  })

  describe('if only HTML is offered', () => {
    table(
      [
        [undefined, 'html'],
        ['*/*', 'html'],
        ['application/*', undefined],
        ['application/json', undefined],
      ],
      { offered: ['html'], own: 'json', body: 'json' },
    )
  })

  it('returns nothing if no format is offered', () => {
    expect(choose('*/*', { offered: [] })).to.equal(undefined)
  })

  it('reads the first 200 media types of a long Accept header', () => {
    const others = (count: number) => Array.from({ length: count }, (_, index) => `image/x${index}`).join(',')
    const choose = (accept: string) =>
      negotiate(['html', 'json'], { accept, body: undefined, default: 'html' })
    expect(choose(`${others(199)},application/json`)).to.equal('json')
    expect(choose(`${others(200)},application/json`)).to.equal(undefined)
  })
})
