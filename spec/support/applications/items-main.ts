/**
 * Serves items from the database of `ITEMS_URL`, with their files in the folder of `TEST_FILES_URL`, and kills itself at the point of
 * `KILL_AT`. With `SWEEP_AT`, a time in milliseconds, it sweeps at that time instead.
 */
import 'reflect-metadata'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { FileTable } from '../../../src/files/file-table.js'
import { FolderStore } from '../../../src/files/stores/folder.js'
import { itemsApp, openItemsAt } from './items.js'

const point = process.env['KILL_AT'] ?? ''
const sweepAt = Number(process.env['SWEEP_AT'] ?? 0)

function reach(name: string): void {
  if (name === point) process.kill(process.pid, 'SIGKILL')
}

/** Lets a method of an object reach a point before and after it. */
function surround(object: object, method: string, name: string): void {
  const original = Reflect.get(object, method) as (...args: unknown[]) => Promise<unknown>
  Reflect.set(object, method, async (...args: unknown[]) => {
    reach(`before ${name}`)
    const result = await original.apply(object, args)
    reach(`after ${name}`)
    return result
  })
}

const database = await openItemsAt(process.env['ITEMS_URL'] ?? '')
const { app, files } = itemsApp(database, process.env['ITEMS_FOLDER'] ?? '', {
  ...(sweepAt > 0 && { now: () => sweepAt }),
  aboveTransaction: async (ctx, next) => {
    await next()
    if (ctx.method === 'POST') reach('after commit')
  },
  belowTransaction: async (ctx, next) => {
    await next()
    if (ctx.method === 'POST') reach('before commit')
  },
})
const table: FileTable = files.internal.table
const store = await files.internal.open()
surround(table, 'add', 'row')
surround(table, 'keep', 'keep')
surround(table, 'detach', 'detach')
surround(table, 'delete', 'delete')
surround(store, 'write', 'bytes')
surround(store, 'remove', 'remove')
if (point === 'within bytes' && store instanceof FolderStore)
  store.write = async (key) => {
    // The beginning of the bytes, as a copy to another disk leaves it.
    const folder = join(store.folder, key.slice(0, 2), key.slice(2, 4))
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, key), 'half')
    reach('within bytes')
  }
else if (point === 'within bytes') {
  const write = store.write.bind(store)
  store.write = async (key, file) => {
    void write(key, file)
    await delay(5)
    reach('within bytes')
  }
}
const address = await app.listen(0, '127.0.0.1')
process.send?.(address)
if (sweepAt > 0) {
  await files.sweep()
  process.exit(0)
}
