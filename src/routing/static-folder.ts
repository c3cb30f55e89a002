import type { Middleware } from '../context.js'
import { HostPattern } from './host.js'
import { canonicalPath } from './path.js'

/** A folder of static files, mounted at a path. */
export class StaticFolder {
  readonly host: HostPattern | undefined
  /** The path at which the folder is mounted, in canonical form. */
  readonly prefix: string

  /**
   * @param prefix the path at which the folder is mounted: `/` or `/assets`
   * @param folder its absolute path in the file system
   * @param host the virtual host: `{tenant}.example.com`
   * @param middleware runs before a file is sent
   * @throws DeclarationError when `host` is malformed
   */
  constructor(
    prefix: string,
    readonly folder: string,
    host?: string,
    readonly middleware: readonly Middleware[] = [],
  ) {
    this.prefix = canonicalPath(prefix)
    this.host = host === undefined ? undefined : new HostPattern(host)
  }

  /** Whether a request's canonical path is below the prefix, and its host is that of the folder. */
  contains(path: string, request: { readonly hostname: string }): boolean {
    const isBelow = this.prefix === '/' || path === this.prefix || path.startsWith(`${this.prefix}/`)
    return isBelow && (!this.host || this.host.match(request.hostname) !== undefined)
  }

  /**
   * Returns the part of a request's path after the prefix, in canonical form, which is the path of a file in
   * the folder. There is none if `send` would read the path as another one, which may belong to another
   * folder: it normalizes `//` and `/../`, and decodes slashes. Windows separates folders by backslashes,
   * too.
   */
  fileOf(path: string): string | undefined {
    const canonical = canonicalPath(path)
    if (/\/\/|\/\.\.?(?:\/|$)|%2F|%5C/.test(canonical)) return undefined
    const file = this.prefix === '/' ? canonical : canonical.slice(this.prefix.length)
    return path.endsWith('/') && !file.endsWith('/') ? `${file}/` : file || '/'
  }
}
