import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import type { Context } from '../../../src/index.js'
import { limited } from '../../../src/http/body/body-stream.js'

describe('limited(ctx, most, check)', () => {
  it('passes on large pieces, even if the client sends the body byte by byte', async () => {
    const req = Object.assign(new PassThrough(), { headers: {} })
    const checked: number[] = []
    // Only these members of the request are used.
    const ctx = { req } as unknown as Context
    const stream = limited(ctx, 200_000, (piece) => checked.push(piece.length))
    const read = stream.toArray()
    for (let index = 0; index < 150_000; index += 1) req.write('x')
    req.end()
    const pieces: Buffer[] = await read
    expect(pieces.map(({ length }) => length)).to.deep.equal([65_536, 65_536, 18_928])
    expect(checked).to.deep.equal([65_536, 65_536, 18_928])
  })
})
