import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from './temporary-folder.js'

/**
 * Occupies the threads on which Node computes hashes: a thread that opens a named pipe waits until somebody writes to it.
 *
 * @returns a function that releases them. A process with occupied threads does not end, so call it in `afterEach`.
 */
export function occupyThreads(): () => Promise<void> {
  const folder = temporaryFolder()
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const threads = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4)
  const opened = Array.from({ length: threads }, () => open(pipe, 'r'))

  let release = async (): Promise<void> => {
    const writer = openSync(pipe, 'w')
    for (const reader of await Promise.all(opened)) await reader.close()
    closeSync(writer)
    rmSync(folder, { recursive: true })
    release = async () => {}
  }
  return () => release()
}
