import { register } from 'node:module'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

/** A run of `kit` in the host. */
export interface HostedRun {
  folder: string
  args: string[]
  env: NodeJS.ProcessEnv
  input: string
}

const runs = new Int32Array(new SharedArrayBuffer(4))
const { exit } = process
let idle = 0

// Runs commands, one after the other, in one process: the framework is loaded once.
process.once('disconnect', () => exit())
process.on('message', async (run: HostedRun) => {
  idle ||= resources()
  runs[0] = (runs[0] ?? 0) + 1
  const status = await statusOf(run, runs[0])
  // A command that leaves something open would not end.
  while (resources() > idle) await delay(5)
  process.stderr.write('\0')
  process.stdout.write('\0', () => process.send?.(status))
})
register('./fresh-modules.js', { parentURL: import.meta.url, data: runs })

async function statusOf({ folder, args, env, input }: HostedRun, run: number): Promise<number> {
  process.chdir(folder)
  process.env = env
  process.exitCode = undefined
  process.argv.splice(2, Infinity, ...args)
  Object.defineProperty(process, 'stdin', { value: Readable.from(input ? [input] : []), configurable: true })
  const ended = new Error('The command has ended.')
  process.exit = (code): never => {
    process.exitCode = code ?? process.exitCode
    throw ended
  }
  try {
    await import(new URL(`../../../src/cli/main.js?run=${run}`, import.meta.url).href)
  } catch (error) {
    if (error !== ended) throw error
  }
  return Number(process.exitCode ?? 0)
}

/** The number of resources that keep the process running. */
function resources(): number {
  return process.getActiveResourcesInfo().length
}
