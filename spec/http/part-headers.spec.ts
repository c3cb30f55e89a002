import { expect } from 'chai'
import { partHeaderCheck } from '../../src/http/part-headers.js'

const head = '--X\r\nContent-Disposition: form-data; name="a"\r\n\r\n'

/** Whether the check lets a body pass that comes in pieces of this size. */
function passes(body: string, size = body.length, type = 'multipart/form-data; boundary=X'): boolean {
  const check = partHeaderCheck(type)
  for (let start = 0; start < body.length; start += size) {
    if (!check(Buffer.from(body.slice(start, start + size)))) return false
  }
  return true
}

describe('partHeaderCheck(contentType)', () => {
  for (const size of [1, 7, 100, 100_000]) {
    describe(`of a body in pieces of ${size} bytes`, () => {
      it('lets long values pass', () => {
        expect(passes(`${head}${'v'.repeat(50_000)}\r\n${head}v\r\n--X--\r\n`, size)).to.equal(true)
      })

      it('stops at long headers, in whichever part', () => {
        expect(passes(`${head}v\r\n--X\r\nContent-Disposition: ${'filename="'.repeat(500)}`, size)).to.equal(
          false,
        )
        expect(passes(`preamble --X\r\n${'a'.repeat(3000)}: b\r\n\r\nv\r\n--X--`, size)).to.equal(false)
      })
    })
  }

  it('knows a boundary in quotes', () => {
    expect(passes(`--a b\r\n${'h'.repeat(3000)}`, 100, 'multipart/form-data; boundary="a b"')).to.equal(false)
  })
})
