import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Load, LoadResult } from './load.js'

/** The process that sends the requests, so that its work is not counted as the server's. */
export class LoadProcess {
  private readonly child: ChildProcess = fork(join(import.meta.dirname, 'load.js'), [], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })

  /**
   * Sends requests, and waits for their answers.
   *
   * @throws Error when an answer is another one than it should be
   */
  async run(load: Load): Promise<LoadResult> {
    const answer = once(this.child, 'message')
    this.child.send(load)
    const [result]: LoadResult[] = await answer
    if (!result || Object.keys(result.wrong).length > 0) {
      throw new Error(`wrong answers to ${load.requests[0]?.path}: ${JSON.stringify(result?.wrong)}`)
    }
    return result
  }

  stop(): void {
    this.child.kill()
  }
}
