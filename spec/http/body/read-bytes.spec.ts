import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import { BadRequest, ContentTooLarge } from '../../../src/errors.js'
import { BodyRead } from '../../../src/http/body/body-reads.js'
import { decodeText, readBytes } from '../../../src/http/body/body-stream.js'

describe('readBytes(ctx, limit, read)', () => {
  function bodyOf(headers: Record<string, string> = {}) {
    return Object.assign(new PassThrough(), { headers, complete: false })
  }

  function reading(body: ReturnType<typeof bodyOf>) {
    return new BodyRead({ req: body, ip: '127.0.0.1' }, () => {})
  }

  /** Reads a body as `BodyReads` does. */
  function readAll(body: ReturnType<typeof bodyOf>, limit: number, read = reading(body)): Promise<Buffer> {
    return readBytes({ req: body, ip: '127.0.0.1' }, limit, read).finally(() => read.stop())
  }

  it('returns UTF-8 whose characters are cut by the pieces, which is decoded without a byte order mark', async () => {
    const body = bodyOf()
    const read = readAll(body, 100)
    for (const byte of Buffer.from('\uFEFF{"a":"käse €"}')) {
      body.write(Buffer.of(byte))
      await new Promise(setImmediate)
    }
    body.end()
    expect(decodeText(await read)).to.equal('{"a":"käse €"}')
  })

  it('counts the memory that the pieces take, however small they are', async () => {
    const body = bodyOf()
    const read = reading(body)
    const bytes = readAll(body, 100_000, read)
    for (let index = 0; index < 30_000; index++) {
      body.write('x')
      if (index % 100 === 0) await new Promise(setImmediate)
    }
    body.end()
    expect((await bytes).length).to.equal(30_000)
    expect(read.held).to.be.within(30_000, 60_000)
  })

  it('reads nothing of a body whose length is over the limit', async () => {
    const body = bodyOf({ 'content-length': '5' })
    body.end('12345')
    const error = await readAll(body, 4).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(ContentTooLarge)
    expect(body.readableFlowing).to.equal(null)
  })

  it('stops at the limit', async () => {
    const body = bodyOf()
    const read = readAll(body, 4)
    body.write('1234')
    body.write('5')
    const error = await read.catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(ContentTooLarge)
    expectUnread(body)
  })

  it('fails if the client disconnects', async () => {
    const body = bodyOf()
    const read = readAll(body, 100)
    body.destroy()
    const error = await read.catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(BadRequest).and.have.property('message', 'The body is incomplete.')
  })

  it('stops when the reading fails', async () => {
    const body = bodyOf()
    const read = reading(body)
    const bytes = readAll(body, 100, read)
    read.fail(new Error('too slow'))
    const error = await bytes.catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(Error).and.have.property('message', 'too slow')
    expectUnread(body)
  })

  it('fails if the body has been read before, instead of waiting for its end', async () => {
    const body = bodyOf()
    body.end('1')
    await readAll(body, 100)
    const error = await readAll(body, 100).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(Error).and.have.property('message').that.contains('has been read before')
  })

  /** Checks that nobody reads the body any more. */
  function expectUnread(body: ReturnType<typeof bodyOf>): void {
    body.write('later')
    expect(body.readableLength).to.equal(5)
  }
})
