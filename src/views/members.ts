import type { Context } from '../context.js'
import type { Pages } from './pages.js'

declare module '../context.js' {
  interface ContextMembers extends PageMembers {}
}

/** The members of a context that render templates. */
export interface PageMembers {
  /** Responds with a template of the `templates` folder: `ctx.render('posts/show', { post })`. */
  render(view: string, locals?: Record<string, unknown>): void

  /** Returns a rendered template as a string, for example for a mail. The response does not change. */
  renderToString(view: string, locals?: Record<string, unknown>): string

  /**
   * Whether the `templates` folder has a template.
   *
   * @internal
   */
  hasTemplate(view: string): boolean
}

export function pageMembers(pages: Pages): PageMembers & ThisType<Context> {
  return {
    render(view, locals) {
      this.type = 'html'
      this.body = pages.render(this, view, locals)
    },

    renderToString(view, locals) {
      return pages.renderToString(this, view, locals)
    },

    hasTemplate: (view) => pages.has(view),
  }
}
