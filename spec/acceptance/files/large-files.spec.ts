import { spawn, type ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { describeOnce } from '../../support/engine.js'
import { startS3rver } from '../../support/servers/bucket.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const mebibyte = 1024 ** 2

/** A file is larger than what the process may grow by. */
const size = (Number(process.env['KIT_FILES'] ?? 40) >= 1000 ? 1024 : 160) * mebibyte
const maxGrowth = 150 * mebibyte

const main = fileURLToPath(new URL('../../support/applications/clips-main.js', import.meta.url))

/** Starts the application in a process whose files can have a number of KiB. */
async function start(
  environment: NodeJS.ProcessEnv,
  maxFile = 'unlimited',
): Promise<{ child: ChildProcess; address: string }> {
  const command = 'ulimit -f "$0"; exec "$@"'
  const child = spawn('bash', ['-c', command, maxFile, process.execPath, main], {
    env: {
      ...process.env,
      GO_ENV: 'test',
      CLIPS_URL: `sqlite:${temporaryFolder()}/clips.sqlite`,
      ...environment,
    },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [address] = (await once(child, 'message')) as [string]
  return { child, address }
}

/** The parts of a form with a file of random bytes. */
function* formWith(length: number, hash = createHash('sha256')) {
  const disposition = 'Content-Disposition: form-data; name="video"; filename="clip.bin"'
  yield Buffer.from(`--x\r\n${disposition}\r\nContent-Type: application/octet-stream\r\n\r\n`)
  const piece = randomBytes(Math.min(mebibyte, length))
  for (let sent = 0; sent < length; sent += piece.length) {
    piece.writeDoubleBE(sent)
    hash.update(piece)
    yield Buffer.from(piece)
  }
  yield Buffer.from('\r\n--x--\r\n')
}

function upload(address: string, length: number, hash = createHash('sha256')): Promise<Response> {
  const headers = { 'content-type': 'multipart/form-data; boundary=x', accept: 'application/json' }
  const body = Readable.from(formWith(length, hash))
  // The types of fetch know neither streams of Node nor `duplex`.
  return fetch(`${address}/clips`, {
    method: 'POST',
    headers,
    body,
    duplex: 'half',
  } as unknown as RequestInit)
}

/** Sends a file, reads it, and compares both. */
async function sendAndRead(address: string, length: number): Promise<void> {
  const [sent, read] = [createHash('sha256'), createHash('sha256')]
  const response = await upload(address, length, sent)
  const text = await response.text()
  expect(response.status, text).to.equal(201)
  const { video } = JSON.parse(text) as { video: { url: string; byte_size: number } }
  expect(video.byte_size).to.equal(length)
  const { body } = await fetch(address + video.url)
  for await (const piece of body ?? []) read.update(piece)
  expect(read.digest('hex')).to.equal(sent.digest('hex'))
}

async function memoryOf(address: string): Promise<number> {
  const response = await fetch(`${address}/memory`)
  return ((await response.json()) as { bytes: number }).bytes
}

describeOnce(`Files of ${size / mebibyte} MiB`, () => {
  let child: ChildProcess
  let address: string
  afterEach(() => child.kill())

  async function expectConstantMemory(environment: NodeJS.ProcessEnv): Promise<void> {
    ;({ child, address } = await start(environment))
    await sendAndRead(address, mebibyte)
    const before = await memoryOf(address)
    await sendAndRead(address, size)
    expect((await memoryOf(address)) - before).to.be.below(maxGrowth)
  }

  it('go up and down with constant memory, in a folder', async () => {
    await expectConstantMemory({ TEST_FILES_URL: `file:${temporaryFolder()}` })
  })

  it('go up and down with constant memory, in a bucket', async () => {
    const { environment, close } = await startS3rver()
    await expectConstantMemory(environment)
    await close()
  })

  it('are 503 with Retry-After if the disk does not take them, and the next request works', async () => {
    const folder = temporaryFolder()
    ;({ child, address } = await start({ TEST_FILES_URL: `file:${folder}` }, String(4 * 1024)))
    for (let count = 0; count < 2; count += 1) {
      const { status, headers } = await upload(address, 8 * mebibyte)
      expect([status, headers.get('retry-after')]).to.deep.equal([503, '60'])
      await sendAndRead(address, mebibyte)
    }
    const make = async (bytes: number): Promise<number> =>
      (await fetch(`${address}/clips/made?bytes=${bytes}`, { method: 'POST' })).status
    expect([await make(8 * mebibyte), await make(mebibyte)]).to.deep.equal([503, 201])
    expect(readdirSync(`${folder}/.uploads`)).to.deep.equal([])
  })
})
