import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('write-posts.js', import.meta.url))

/** Starts `write-posts.ts` in its own process. */
export function startProcess(...args: string[]): ChildProcessByStdio<null, Readable, null> {
  return spawn(process.execPath, [SCRIPT, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Runs `write-posts.ts` to its end, and returns its output. */
export async function runProcess(...args: string[]): Promise<string> {
  const child = startProcess(...args)
  const [output, [status]] = await Promise.all([
    text(child.stdout),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  if (status !== 0) throw new Error(`write-posts ${args.join(' ')} ended with ${status}`)
  return output
}
