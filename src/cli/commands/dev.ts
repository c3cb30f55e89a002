import { watch } from 'chokidar'
import { Command } from 'commander'
import { stripVTControlCharacters } from 'node:util'
import { ApplicationExited } from '../../command-errors.js'
import { DevelopmentHosts } from '../../http/security/hosts.js'
import { currentPort } from '../../server/port.js'
import { GracefulServer } from '../../server/graceful-server.js'
import { onStopSignal } from '../../server/signals.js'
import { enterApplication } from '../support/application-folder.js'
import { build, isStale } from '../support/compilation.js'
import { ChildServer } from '../support/child-server.js'
import { jobsOption, setJobCount } from '../support/jobs.js'
import { writeRouteTypes, writtenTypes } from '../support/route-types.js'
import { forward, showFailure } from '../support/forward.js'

/** The watched paths. Templates, locales and public files are reloaded without a restart. */
const WATCHED = ['src', 'migrations', 'ormconfig.ts', 'tsconfig.json']

/** The message for visitors of other hosts: the reason could reveal source code. */
const REASON_ELSEWHERE =
  'The application is not running.\nThe terminal of `kit dev` shows the reason. To show it on this page, add the host to DEVELOPMENT_HOSTS.'

/** `kit dev`: a server that restarts when the code changes. */
export function devCommand(): Command {
  return new Command('dev')
    .description(
      'Serves the application, and compiles and restarts it when its code changes. Requests wait during a restart. If ' +
        'the application does not compile or start, the terminal and the browser show the reason until the next change.',
    )
    .option('--jobs <n>', jobsOption)
    .addHelpText('after', '\nExample:\n  $ kit dev\n  $ PORT=4000 kit dev')
    .action(dev)
}

async function dev({ jobs }: { jobs?: string }): Promise<void> {
  setJobCount(jobs)
  const root = enterApplication()
  const server = new DevelopmentServer(root)
  const host = process.env['HOST'] || '127.0.0.1'
  const hosts = new DevelopmentHosts([], host)
  const front = new GracefulServer((req, res) => {
    server.address.then(
      (address) => forward(req, res, address),
      (error: unknown) =>
        showFailure(req, res, hosts.check(req.headers) ? REASON_ELSEWHERE : reasonOf(error)),
    )
  })
  const address = await front.listen(currentPort(), host)
  // Mails link to this port, and not to that of the application's own process.
  process.env['KIT_DEV_PORT'] = new URL(address).port
  console.log(`kit dev: ${address}`)
  // The first start. If nothing has changed since the last build, the application is not compiled.
  server.change(!isStale(root))
  const watcher = watch(WATCHED, { cwd: root, ignoreInitial: true })
  watcher.on('all', () => server.changeSoon())

  const stop = async (): Promise<void> => {
    await Promise.all([watcher.close(), server.stop(), front.close(500)])
    process.exit()
  }
  onStopSignal(() => void stop())
}

/** Compiles the application and runs it in its own process. Restarts it after each change. */
class DevelopmentServer {
  /** Resolves to the application's address once it listens. Rejects if it does not compile or start. */
  address: Promise<string> = Promise.resolve('')
  private readonly child: ChildServer
  private timer: NodeJS.Timeout | undefined

  constructor(private readonly root: string) {
    this.child = new ChildServer(root, this.fail, (types) => this.checkRoutes(types))
  }

  /** Treats several files that are saved almost at the same time as one change. */
  changeSoon(): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.change(), 40)
  }

  /**
   * Restarts the application, once an earlier start has ended.
   *
   * @param isBuilt whether the compiled files are up to date
   */
  change(isBuilt = false): void {
    const before = this.address.catch(() => undefined)
    this.settle(before.then(() => this.renew(isBuilt)))
  }

  stop(): Promise<void> {
    clearTimeout(this.timer)
    return this.child.stop()
  }

  private async renew(isBuilt: boolean): Promise<string> {
    const began = performance.now()
    if (!isBuilt) await build(this.root)
    const address = await this.child.start()
    console.log(`kit dev: ready after ${Math.round(performance.now() - began)} ms`)
    return address
  }

  /** Writes the types of the routes. If they changed, compiles again, because old names are now wrong. */
  private checkRoutes(types: string): void {
    const isFirst = writtenTypes(this.root) === undefined
    if (writeRouteTypes(this.root, types) && !isFirst) this.change()
  }

  /** The application has exited by itself. */
  private readonly fail = (reason: Error): void => this.settle(Promise.reject(reason))

  /** Sets the address for which requests wait. If it rejects, prints why. */
  private settle(address: Promise<string>): void {
    this.address = address
    address.catch((error: unknown) => console.error(`kit dev: ${messageOf(error)}`))
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The message for the browser, with the output of an application that has exited. */
function reasonOf(error: unknown): string {
  const output = error instanceof ApplicationExited ? `\n${error.output}` : ''
  return stripVTControlCharacters(messageOf(error) + output)
}
