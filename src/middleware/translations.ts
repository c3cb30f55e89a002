import { resolve } from 'node:path'
import type { Next } from 'koa'
import { cookiesOf } from '../common/cookies.js'
import type { Context, Hooks, Middleware } from '../context.js'
import { environmentOf } from '../common/environment.js'
import { CatalogSource } from '../translations/catalog-source.js'
import type { Catalog } from '../translations/catalog.js'
import { defaultLocale } from '../translations/formatters.js'
import { chooseLocale } from '../translations/locale-choice.js'
import { languages } from '../translations/members.js'

/** The options of `translations()`. */
export interface TranslationsOptions {
  /** The fallback locale (`en-US`). Its translations are also used where another locale lacks one. */
  fallback?: string
  /** The name of the cookie, or the key of the session, with the visitor's locale (`lang`). */
  name?: string
  /** Whether changed files are reloaded. By default in development. */
  reload?: boolean
}

/**
 * Loads the application's translations from files `<name>.<locale>.yaml` in a folder, and chooses the locale
 * of each request among those of the folder: the `lang` cookie, the session's `lang`, `Accept-Language`, else
 * `en-US`. The locale is chosen on first use, including for error pages of unknown paths.
 *
 * @example
 * app.use(translations('locales'))
 * @example
 * app.use(translations('locales', { fallback: 'de' }))
 * @throws BrokenTranslations when a file cannot be read: at the start and, in development, until it is
 *   corrected
 * @throws DeclarationError when the folder does not exist
 */
export function translations(folder = 'locales', options: TranslationsOptions = {}): Middleware {
  const { fallback = defaultLocale, name = 'lang' } = options
  const source = new CatalogSource(resolve(folder), fallback)

  function localize(ctx: Context, catalog: Catalog): void {
    languages.set(ctx, { catalog, fallback, choose: () => localeOf(ctx, catalog, { fallback, name }) })
  }

  function translations(ctx: Context, next: Next): unknown {
    const reloads = options.reload ?? environmentOf(ctx) === 'development'
    const catalog = reloads ? source.reload() : source.latest
    // The `begin` hook has set the catalog of the first translations(), as it was before a reload.
    if (ctx.catalog !== catalog) localize(ctx, catalog)
    return next()
  }

  const extension: Hooks = {
    // A job has no visitor, so its locale is the fallback until it sets another one.
    aroundJob(job, run) {
      languages.set(job, { catalog: source.latest, fallback, choose: () => fallback })
      return run()
    },
    begin(ctx) {
      // The first translations() of an application also applies where no route matches.
      if (!languages.has(ctx)) localize(ctx, source.latest)
    },
  }
  return Object.assign(translations, { extension })
}

function localeOf(ctx: Context, { locales }: Catalog, options: { fallback: string; name: string }): string {
  const { fallback, name } = options
  if (locales.length === 1 && locales[0] === fallback) return fallback
  if (locales.length > 1) ctx.vary(['Accept-Language', 'Cookie'])
  const chosen = [cookiesOf(ctx).get(name), ctx.hasSession ? ctx.session[name] : undefined]
  return chooseLocale(locales, { chosen, accept: ctx.get('Accept-Language') }, fallback)
}
