import type { Middleware } from '../context.js'
import type { HostPattern } from './host.js'

/** A folder of static files that is mounted at a path. */
export interface StaticMount {
  prefix: string
  folder: string
  /** The virtual host that it belongs to. */
  host?: HostPattern | undefined
  /** How many routes were declared before it. */
  order: number
  /** What runs before a file is sent. */
  middleware?: readonly Middleware[]
}

/** Whether a path lies beneath a mount. */
export function isServedBy(mount: Pick<StaticMount, 'prefix'>, path: string): boolean {
  return mount.prefix === '/' || path === mount.prefix || path.startsWith(`${mount.prefix}/`)
}
