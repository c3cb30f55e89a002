import type { Context } from '../context.js'
import { UnknownRoute } from '../errors.js'
import type { Assets } from '../http/static/assets.js'
import type { RouteTable } from '../routing/route-table.js'
import { nearest } from '../naming/spelling.js'
import { viewHelpers } from './helpers.js'
import { PageContext } from './page-context.js'
import { Renderer, type RendererOptions } from './renderer.js'
import { TemplateWarnings } from './template-warnings.js'

/** A function that every template can call without its first argument. */
// The arguments are those of the template, which has no types.
// oxlint-disable-next-line no-explicit-any
export type Helper = (ctx: Context, ...args: any[]) => unknown

/** Renders the templates of an application. */
export class Pages {
  private readonly renderer: Renderer
  private readonly warnings: TemplateWarnings | undefined

  constructor(
    private readonly table: RouteTable,
    private readonly assets: Assets,
    private readonly helpers: Record<string, Helper>,
    private readonly options: Pick<RendererOptions, 'folders' | 'cache' | 'checksAttributes'> & {
      filesLimit?: number
    },
  ) {
    this.renderer = new Renderer({ ...options, explain: (error) => explainMissingHelper(error, table) })
    if (options.checksAttributes) this.warnings = new TemplateWarnings()
  }

  /** Renders the page of a response, which gets its `Content-Language`. */
  render(ctx: Context, view: string, locals?: object): string {
    ctx.set('Content-Language', ctx.locale)
    return this.renderToString(ctx, view, locals)
  }

  /**
   * Renders a template. If several of its variables have the same name, the first of these is used: locals,
   * `ctx.state`, the application's helpers, the framework's helpers, path helpers.
   */
  renderToString(ctx: Context, view: string, locals?: object): string {
    const helpers = viewHelpers(new PageContext(ctx, this.table, this.assets, this.options.filesLimit))
    const warning = this.warnings?.localsFor(ctx, view)
    return this.renderer.render(
      view,
      Object.assign(helpers, warning, this.helpersFor(ctx), ctx.state, locals),
    )
  }

  has(view: string): boolean {
    return this.renderer.has(view)
  }

  private helpersFor(ctx: Context): Record<string, (...args: unknown[]) => unknown> {
    const bound: Record<string, (...args: unknown[]) => unknown> = {}
    for (const [name, helper] of Object.entries(this.helpers)) bound[name] = (...args) => helper(ctx, ...args)
    return bound
  }
}

/** Explains the call of a path helper that does not exist. */
function explainMissingHelper(error: Error, { helpers }: RouteTable): Error {
  const name = /^(\w+Paths?) is not a function$/.exec(error.message)?.[1]
  if (name === undefined || name in helpers) return error
  return Object.assign(new UnknownRoute(name, nearest(name, Object.keys(helpers))), { cause: error })
}
