import type { Middleware } from '../context.js'
import { HostPattern } from './host.js'

/** A folder of static files, mounted at a path. */
export class StaticFolder {
  readonly host: HostPattern | undefined

  /**
   * @param prefix the path at which it is mounted: `/` or `/assets`
   * @param folder an absolute path
   * @param host the virtual host
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

  /** Whether a request leads to the folder. */
  contains(path: string, request: { readonly hostname: string }): boolean {
    const isBelow = this.prefix === '/' || path === this.prefix || path.startsWith(`${this.prefix}/`)
    return isBelow && (!this.host || this.host.match(request.hostname) !== undefined)
  }

  /** Returns the part of a path below the prefix, at which the folder may have a file. */
  fileOf(path: string): string {
    return (this.prefix === '/' ? path : path.slice(this.prefix.length)) || '/'
  }
}
