import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import { BadRequest, ContentTooLarge } from '../../../src/errors.js'
import { readText } from '../../../src/http/body/body-stream.js'

describe('readText(body, limit, read)', () => {
  function bodyOf(headers: Record<string, string> = {}) {
    return Object.assign(new PassThrough(), { headers })
  }

  function reading() {
    return { hold: () => {}, onFail: (_error: Error) => {} }
  }

  it('decodes UTF-8 whose characters are cut by the pieces, without a byte order mark', async () => {
    const body = bodyOf()
    const read = readText(body, 100, reading())
    for (const byte of Buffer.from('\uFEFF{"a":"käse €"}')) body.write(Buffer.of(byte))
    body.end()
    expect(await read).to.equal('{"a":"käse €"}')
  })

  it('reads nothing of a body whose length is over the limit', async () => {
    const body = bodyOf({ 'content-length': '5' })
    body.end('12345')
    const error = await readText(body, 4, reading()).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(ContentTooLarge)
    expect(body.readableFlowing).to.equal(null)
  })

  it('stops at the limit', async () => {
    const body = bodyOf()
    const read = readText(body, 4, reading())
    body.write('1234')
    body.write('5')
    const error = await read.catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(ContentTooLarge)
    expect(body.isPaused()).to.equal(true)
  })

  it('fails if the client disconnects', async () => {
    const body = bodyOf()
    const read = readText(body, 100, reading())
    body.destroy()
    const error = await read.catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(BadRequest).and.have.property('message', 'The body is incomplete.')
  })

  it('stops when the reading fails', async () => {
    const body = bodyOf()
    const read = reading()
    const text = readText(body, 100, read)
    read.onFail(new Error('too slow'))
    const error = await text.catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(Error).and.have.property('message', 'too slow')
    expect(body.isPaused()).to.equal(true)
  })

  it('fails if the body has been read before, instead of waiting for its end', async () => {
    const body = bodyOf()
    body.end('1')
    await readText(body, 100, reading())
    const error = await readText(body, 100, reading()).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(Error).and.have.property('message').that.contains('has been read before')
  })
})
