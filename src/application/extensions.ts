import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Background } from '../background.js'
import type { Extension, Hooks, Middleware } from '../context.js'
import { DeclarationError } from '../errors.js'
import { classOfMiddleware } from '../injection/middleware-class.js'
import type { DeclaredRoute } from '../routing/declared-route.js'

/**
 * The hooks of an extension, and when they run. `stop` runs in the reverse order of the declarations, all
 * others in theirs.
 *
 * | When                      | Hooks                                             |
 * | ------------------------- | ------------------------------------------------- |
 * | the application starts    | `background`, `start`, `checkRoutes`, `listening` |
 * | a request, `GET /up`      | `begin`, `check`                                  |
 * | a job runs                | `aroundJob`                                       |
 * | the application stops     | `finish`, `stop`                                  |
 */
const HOOKS = [
  'background',
  'start',
  'checkRoutes',
  'listening',
  'begin',
  'check',
  'aroundJob',
  'finish',
  'stop',
] as const satisfies readonly (keyof Hooks)[]

/** The extensions of an application, those of its middleware, and its session store: whatever has hooks. */
export class Extensions {
  /**
   * @param declared each with its middleware, in the order of declaration
   * @param sessionStore starts last
   */
  constructor(
    private readonly declared: ReadonlyMap<Hooks | Extension, Middleware | undefined>,
    private readonly sessionStore: Hooks | undefined,
  ) {}

  /** In the order of declaration. */
  get all(): Hooks[] {
    return [...this.declared.keys(), ...(this.sessionStore ? [this.sessionStore] : [])]
  }

  /** Finds an extension by its name. */
  named(name: string): Extension | undefined {
    return [...this.declared.keys()].find((it): it is Extension => 'name' in it && it.name === name)
  }

  /** Starts all, and then checks the routes of each. */
  async start(
    routes: readonly DeclaredRoute[],
    background: Background,
    logger: Logger,
    env: string,
  ): Promise<void> {
    for (const hooks of this.all) hooks.background?.(background)
    for (const hooks of this.all) await hooks.start?.(logger, env)
    for (const [hooks, middleware] of this.declared)
      await hooks.checkRoutes?.(
        middleware ? routes.filter((route) => route.middleware.includes(middleware)) : routes,
        logger,
        env,
      )
  }

  listening(logger: Logger): void {
    for (const hooks of this.all) hooks.listening?.(logger)
  }

  /** @throws the error of the first one that is not able to work */
  async check(): Promise<void> {
    for (const hooks of this.all) await hooks.check?.()
  }

  /** Lets all finish by the deadline. It never rejects: the shutdown continues in any case. */
  async finish(deadline: Date, logger: Logger): Promise<void> {
    const timeout = setTimeout(Math.max(0, deadline.getTime() - Date.now()), undefined, { ref: false })
    const work = this.all.map(async (hooks) => hooks.finish?.(deadline))
    for (const part of work) part.catch((error: unknown) => logger.error(error, 'work was not finished'))
    await Promise.race([Promise.allSettled(work), timeout])
  }

  /**
   * Stops all, even if some of them fail.
   *
   * @throws the error of one, or an AggregateError of several
   */
  async stop(): Promise<void> {
    const errors: unknown[] = []
    for (const hooks of this.all.toReversed()) {
      try {
        await hooks.stop?.()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 1) throw new AggregateError(errors, 'Several extensions failed to stop.')
    if (errors.length === 1) throw errors[0]
  }
}

/** @throws DeclarationError when a middleware has a hook as its own property, where nothing would call it */
export function rejectMisplacedHooks(middleware: Middleware): void {
  const owner = classOfMiddleware.get(middleware) ?? middleware
  const hook = HOOKS.find((name) => Object.hasOwn(owner, name))
  if (hook === undefined) return
  const name = middleware.name || 'The middleware'
  throw new DeclarationError(
    `${name} has the property "${hook}", which the application does not call. Move it into the extension of the middleware: ` +
      `{ extension: { ${hook} } }.`,
  )
}
