import type { Middleware } from '../context.js'
import type { DeclaredPolicy } from '../policies/policy.js'

/** An item in the path of the routes that are declared in it. */
export interface PathParent {
  /** The foreign key of the records below it: `post_id`, even if the parameter is `{slug}`. */
  key: string
  /** The model of its resource. */
  model: (new () => object) | undefined
  /** The parameter; undefined if its resource is singular. */
  param: string | undefined
  /** The property whose value the parameter has. */
  property: string
}

/** The properties of all declarations in a scope. In the application's scope, they are empty. */
export class Mount {
  /** The prefix of the paths in the scope: `/posts/{post_id}` in the scope of an item. */
  readonly path: string = ''
  /** One object for the application and each group and host around them, the outermost first. */
  readonly scopes: readonly object[] = [{}]
  /** The virtual host: `{tenant}.example.com`. */
  readonly host: string | undefined
  /** The path of the innermost item; empty outside of resources. */
  readonly itemPath: string = ''
  /** The items in the path, the outermost first. */
  readonly parents: readonly PathParent[] = []
  /** The policies of the resources in the path. */
  readonly policies: readonly DeclaredPolicy[] = []
  /** The middleware that has been registered so far, in order. */
  readonly middleware: readonly Middleware[] = []

  /** Returns a copy with other properties. */
  with(changes: Partial<Omit<Mount, 'with' | 'pathOf' | 'contains'>>): Mount {
    return Object.assign(new Mount(), this, changes)
  }

  /** Returns the full path for a path that is declared in the scope. */
  pathOf(path: string): string {
    return `/${this.path}/${path}`.replaceAll(/\/{2,}/g, '/').replace(/(.)\/$/, '$1')
  }

  /** Whether another mount has the same host, and a path that begins with the path of this mount. */
  contains({ path, host }: Mount): boolean {
    return host === this.host && (['', '/'].includes(this.path) || path.startsWith(`${this.path}/`))
  }
}
