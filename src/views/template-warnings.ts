import { relative } from 'node:path'
import type { Context } from '../context.js'
import { nearest } from '../naming/spelling.js'
import { CHECK, missingAttribute } from './attribute-checks.js'

/** Warns once in development about misspelled ids and attributes in templates, which pages hide. */
export class TemplateWarnings {
  private readonly reported = new Set<string>()

  /** The locals of a template that report mistakes: `t`, and the check of attributes. */
  localsFor(ctx: Context, view: string): Record<string, unknown> {
    const warn = (problem: string): void => {
      if (this.reported.has(problem)) return
      this.reported.add(problem)
      ctx.log.warn(problem)
    }
    return {
      t(id: string, values?: Record<string, unknown>): string {
        const { catalog, locale } = ctx
        if (!catalog.has(locale, id)) {
          const similar = nearest(id, catalog.textsFor(locale).keys())
          const hint = similar ? ` Did you mean t('${similar}')?` : ''
          warn(`The page ${view} calls t('${id}'), but no file in locales has this id.${hint}`)
        }
        return ctx.t(id, values)
      },
      [CHECK](record: unknown, name: string, property: string, file: string, line: number): void {
        const problem = missingAttribute(record, name, property)
        if (problem) warn(`${relative(process.cwd(), file)}, line ${line}: ${problem}`)
      },
    }
  }
}
