import type { Middleware } from '../context.js'
import type { DeclaredPolicy } from '../policies/policy.js'

/** The common properties of everything that is declared in a scope. Those of the application are empty. */
export class Mount {
  /** The prefix of its paths: `/posts/{post_id}` in the scope of an item. */
  readonly path: string = ''
  /** The application, groups and hosts that it is in, the outermost first. */
  readonly scopes: readonly object[] = [{}]
  /** Its virtual host: `{tenant}.example.com`. */
  readonly host: string | undefined
  /** The path of the innermost item; empty outside of resources. */
  readonly itemPath: string = ''
  /** The foreign keys for the records in the path, the outermost first: `['post_id']`. */
  readonly parentKeys: readonly string[] = []
  /** The policies of the resources in the path. */
  readonly policies: readonly DeclaredPolicy[] = []
  /** The middleware that has been registered so far, in order. */
  readonly middleware: readonly Middleware[] = []

  with(changes: Partial<Omit<Mount, 'with' | 'pathOf' | 'contains'>>): Mount {
    return Object.assign(new Mount(), this, changes)
  }

  /** The whole path of one that is declared here. */
  pathOf(path: string): string {
    return `/${this.path}/${path}`.replaceAll(/\/{2,}/g, '/').replace(/(.)\/$/, '$1')
  }

  /** Whether another mount is within this one's path and host, so that nesting there loses neither. */
  contains({ path, host }: Mount): boolean {
    return host === this.host && (['', '/'].includes(this.path) || path.startsWith(`${this.path}/`))
  }
}
