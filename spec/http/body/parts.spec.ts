import { expect } from 'chai'
import { BadRequest, TooManyFields } from '../../../src/errors.js'
import { boundaryOf, readParts, type Part } from '../../../src/http/body/parts.js'

const head = '--X\r\nContent-Disposition: form-data; name="a"\r\n\r\n'
const value = `${head}v\r\n`

/** Reads a body in pieces of this size. Returns its parts with their contents. */
async function read(
  body: string,
  size = body.length,
  most = 10,
): Promise<Array<Partial<Part> & { content: string }>> {
  const parts: Array<Part & { content: string }> = []
  let position = 0
  const next = () => {
    const piece = Buffer.from(body).subarray(position, (position += size))
    return Promise.resolve(piece.length > 0 ? piece : undefined)
  }
  await readParts(next, 'X', most, {
    begin: (part) => parts.push({ ...part, content: '' }),
    content: (piece) => (parts.at(-1)!.content += piece.toString('latin1')),
    end: () => {},
  })
  return parts
}

function rejection(...given: Parameters<typeof read>): Promise<unknown> {
  return read(...given).then(
    () => undefined,
    (error: unknown) => error,
  )
}

describe('readParts(next, boundary, maxDelimiters, receiver)', () => {
  for (const size of [1, 2, 7, 100, 100_000]) {
    describe(`with a body in pieces of size ${size}`, () => {
      it('reads the content of each part as it is', async () => {
        for (const content of [
          '',
          '\r',
          '\r\n',
          '\r\n--',
          '\r\n--Y',
          '--',
          '-X',
          `v--X${'v'.repeat(3000)}`,
        ]) {
          const parts = await read(`${head}${content}\r\n${value}--X--\r\n`, size)
          expect(parts.map((part) => part.content)).to.deep.equal([content, 'v'])
        }
      })

      it('reads the parameters of the headers', async () => {
        const one = async (headers: string) => {
          const [part] = await read(`--X\r\nContent-Disposition: form-data${headers}\r\n\r\nv\r\n--X--`, size)
          return [part?.name, part?.filename]
        }
        expect(await one('; name="a b"')).to.deep.equal(['a b', undefined])
        expect(await one('; name=a; filename=""')).to.deep.equal(['a', ''])
        expect(await one('; name="a\\"b\\\\"; filename="c;d=e"')).to.deep.equal(['a"b\\', 'c;d=e'])
        expect(await one('; name="a%22b"; filename="%"')).to.deep.equal(['a%22b', '%'])
        expect(await one('; filename="C:\\dir\\a.txt"')).to.deep.equal([undefined, 'a.txt'])
        expect(await one('; filename="../.."')).to.deep.equal([undefined, ''])
        expect(await one('; filename="a"; filename*=UTF-8\'de\'%C3%A4')).to.deep.equal([undefined, 'ä'])
        expect(await one('')).to.deep.equal([undefined, undefined])
      })

      it('rejects long headers in any part', async () => {
        const long = `${value}--X\r\nContent-Disposition: ${'filename="'.repeat(500)}`
        expect(await rejection(long, size)).to.be.instanceOf(BadRequest)
        const first = `preamble\r\n--X\r\n${'a'.repeat(3000)}: b\r\n\r\nv\r\n--X--`
        expect(await rejection(first, size)).to.be.instanceOf(BadRequest)
      })

      it('rejects too many parts', async () => {
        expect(await rejection(`${value.repeat(9)}--X--`, size)).to.equal(undefined)
        expect(await rejection(`${value.repeat(10)}--X--`, size)).to.be.instanceOf(TooManyFields)
      })

      it('rejects parts that are not form-data, and malformed headers', async () => {
        for (const headers of [
          '',
          'foo\r\nContent-Disposition: form-data; name="a"',
          'Content-Type: text/plain',
          'Content-Disposition: attachment; name="a"',
          'Content-Disposition: attachment\r\nContent-Disposition: form-data; name="a"',
          'Content-Disposition : form-data; name="a"',
          'Content-Disposition: form-data;\r\n name="a"',
          'X: y\rContent-Disposition: form-data; name="a"',
          'Content-Disposition: form-data; name="a\nb"',
          'Content-Disposition: form-data; name="a\0b"',
          "Content-Disposition: form-data; name*=utf-8''a%0Ab",
          "Content-Disposition: form-data; name*=utf-8''a*b%0Ab",
          "Content-Disposition: form-data; name*=utf-8''%",
          'Content-Disposition: form-data; name*=a',
        ]) {
          const part = `--X\r\n${headers}\r\n\r\nv\r\n--X--`
          expect(await rejection(part, size), headers).to.be.instanceOf(BadRequest)
          expect(await rejection(`${value}${part}`, size), headers).to.be.instanceOf(BadRequest)
        }
      })

      it('rejects a body without its end, and a boundary that is followed by other text', async () => {
        for (const body of [
          '',
          'v',
          '--X',
          '--X-',
          `--X\r\n`,
          head,
          value,
          `${value}--X`,
          `${value}--X-\r\n`,
        ])
          expect(await rejection(body, size), body).to.be.instanceOf(BadRequest)
        for (const body of [`${value}--Xy\r\n\r\n--X--`, `${head}--X--\r\nv\r\n--X--`])
          expect(await rejection(body, size), body).to.be.instanceOf(BadRequest)
      })

      it('ignores the text before the first part and after the last, and spaces after a boundary', async () => {
        const spaced = value.replace('--X', '--X \t')
        const parts = await read(`text\r\n${spaced}--X--\r\n\r\ntext\r\n--X\r\n\r\n`, size)
        expect(parts.map((part) => part.content)).to.deep.equal(['v'])
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
