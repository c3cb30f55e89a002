import { expect } from 'chai'
import { BadRequest, TooManyFields } from '../../../src/errors.js'
import { boundaryOf, partCheck } from '../../../src/http/body/parts.js'

const head = '--X\r\nContent-Disposition: form-data; name="a"\r\n\r\n'

/** The error that the check throws for a body in chunks of this size. */
function rejection(body: string, size = body.length, most = 10): unknown {
  const check = partCheck('X', most)
  try {
    for (let start = 0; start < body.length; start += size)
      check(Buffer.from(body.slice(start, start + size)))
    return undefined
  } catch (error) {
    return error
  }
}

describe('partCheck(boundary, maxDelimiters)', () => {
  for (const size of [1, 7, 100, 100_000]) {
    describe(`with a body in chunks of size ${size}`, () => {
      it('accepts long values', () => {
        expect(rejection(`${head}${'v'.repeat(50_000)}\r\n${head}v\r\n--X--\r\n`, size)).to.equal(undefined)
      })

      it('rejects long headers in any part', () => {
        const long = `${head}v\r\n--X\r\nContent-Disposition: ${'filename="'.repeat(500)}`
        expect(rejection(long, size)).to.be.instanceOf(BadRequest)
        const first = `preamble\r\n--X\r\n${'a'.repeat(3000)}: b\r\n\r\nv\r\n--X--`
        expect(rejection(first, size)).to.be.instanceOf(BadRequest)
      })

      it('rejects too many parts, whatever they contain', () => {
        for (const part of [head + 'v\r\n', '--X\r\n']) {
          expect(rejection(part.repeat(10), size)).to.equal(undefined)
          expect(rejection(part.repeat(11), size), part).to.be.instanceOf(TooManyFields)
        }
      })

      it('rejects parts that are not form-data', () => {
        for (const headers of [
          '',
          'Content-Type: text/plain',
          'Content-Disposition: attachment; name="a"',
          'Content-Disposition: attachment\r\nContent-Disposition: form-data; name="a"',
          'Content-Disposition : form-data; name="a"',
          'X: y\rContent-Disposition: form-data; name="a"',
          'Content-Disposition: form-data; name="a\nb"',
          "Content-Disposition: form-data; name*=utf-8''a%0Ab",
          "Content-Disposition: form-data; name*=utf-8''a*b%0Ab",
        ]) {
          const part = `--X\r\n${headers}\r\n\r\nv\r\n--X--`
          expect(rejection(part, size), headers).to.be.instanceOf(BadRequest)
          expect(rejection(`${head}v\r\n${part}`, size), headers).to.be.instanceOf(BadRequest)
        }
      })

      it('ignores the text after the last part', () => {
        expect(rejection(`${head}v\r\n--X--\r\n\r\ntext\r\n\r\n`, size)).to.equal(undefined)
      })

      it('recognizes a boundary only at the beginning of a line', () => {
        expect(rejection(`${head}v${`--X${'v'.repeat(3000)}`.repeat(20)}`, size)).to.equal(undefined)
      })
    })
  }
})

describe('boundaryOf(contentType)', () => {
  for (const [contentType, boundary] of [
    ['multipart/form-data; boundary=X', 'X'],
    ['multipart/form-data;boundary=X; charset=utf-8', 'X'],
    ['multipart/form-data; BOUNDARY="a b"', 'a b'],
    ['multipart/form-data; xboundary=Y; boundary=X', 'X'],
    [`multipart/form-data; boundary=${'x'.repeat(70)}`, 'x'.repeat(70)],
  ] as const) {
    it(`returns ${boundary} for ${contentType}`, () => expect(boundaryOf(contentType)).to.equal(boundary))
  }

  for (const contentType of [
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=""',
    'multipart/form-data; boundary="a\\"b"',
    'multipart/form-data; boundary=ä',
    'multipart/form-data; boundary="a "',
    `multipart/form-data; boundary=${'x'.repeat(71)}`,
  ]) {
    it(`rejects ${contentType}`, () => expect(() => boundaryOf(contentType)).to.throw(BadRequest))
  }
})
