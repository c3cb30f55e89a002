import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { environment, kitFile } from '../kit.js'
import { freePort } from '../servers/free-port.js'

/** `kit dev`, which runs until it is stopped. */
export class DevelopmentServer {
  private constructor(
    readonly url: string,
    /** Its output until it was ready. */
    readonly output: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(folder: string): Promise<DevelopmentServer> {
    const port = String(await freePort())
    const child = spawn(process.execPath, [kitFile, 'dev'], {
      cwd: folder,
      env: environment({ PORT: port }),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines: string[] = []
    for await (const line of createInterface(child.stdout)) {
      if (line.startsWith('kit dev: ')) lines.push(line)
      if (line.startsWith('kit dev: ready')) break
    }
    child.stdout.resume()
    return new DevelopmentServer(`http://127.0.0.1:${port}`, lines.join('\n'), child)
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit')
    this.child.kill()
    await ended
  }
}
