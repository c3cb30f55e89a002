/**
 * Serves the parts in the database of `PARTS_URL`, and kills itself at the point of `KILL_AT`: before the call for a line (`line 3`),
 * `before commit` or `after commit`.
 */
import 'reflect-metadata'
import { behavior, openParts, partsApp } from './parts.js'

const point = process.env['KILL_AT']

function reach(name: string): void {
  if (name === point) process.kill(process.pid, 'SIGKILL')
}

behavior.before = (ctx) => reach(`line ${ctx.importLine}`)
const app = partsApp(await openParts(process.env['PARTS_URL'] ?? ''), {
  belowTransaction: async (_ctx, next) => {
    await next()
    reach('before commit')
  },
  aboveTransaction: async (_ctx, next) => {
    await next()
    reach('after commit')
  },
})
process.send?.(await app.listen(0, '127.0.0.1'))
