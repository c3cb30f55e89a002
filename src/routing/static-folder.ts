import type { Middleware } from '../context.js'
import { HostPattern } from './host.js'

/** A folder of static files, mounted at a path. */
export class StaticFolder {
  readonly host: HostPattern | undefined

  /**
   * @param prefix its path: `/` or `/assets`
   * @param folder an absolute path
   * @param host its virtual host
   * @param middleware runs before a file is sent
   */
  constructor(
    readonly prefix: string,
    readonly folder: string,
    host?: string,
    readonly middleware: readonly Middleware[] = [],
  ) {
    this.host = host === undefined ? undefined : new HostPattern(host)
  }

  /** Whether a path leads to it. */
  contains(path: string, request: { readonly hostname: string }): boolean {
    const isBelow = this.prefix === '/' || path === this.prefix || path.startsWith(`${this.prefix}/`)
    return isBelow && (!this.host || this.host.match(request.hostname) !== undefined)
  }

  /** The part of a path below its own, for which it may have a file. */
  fileOf(path: string): string {
    return (this.prefix === '/' ? path : path.slice(this.prefix.length)) || '/'
  }
}
