import { resolve } from 'node:path'
import type { Next } from 'koa'
import type { Context, Middleware } from '../context.js'
import { currentEnvironment } from '../environment.js'
import { CatalogueSource } from '../translations/catalogue-source.js'
import type { Catalogue } from '../translations/catalogue.js'
import { defaultLocale } from '../translations/formatters.js'
import { chooseLocale } from '../translations/locale-choice.js'
import { catalogueOf, letChooseLocale } from '../translations/request-locale.js'

/** What `translations()` takes beside the folder. */
export interface TranslationsOptions {
  /** The locale of those who want none that there is (`en-US`). It lends its texts to the others, too. */
  fallback?: string
  /** The cookie, and the key of the session, that hold the locale which somebody has chosen (`lang`). */
  name?: string
  /** Whether changed files are read anew. By default in development. */
  reload?: boolean
}

/**
 * Reads the application's texts from a folder of files `<name>.<locale>.yaml`, and chooses each request's locale among
 * those that the folder has: the cookie `lang`, the session's `lang`, `Accept-Language`, else `en-US`. It is chosen
 * when it is first asked for; error pages of unknown paths have it, too.
 *
 * @example
 * app.use(translations('locales'))
 * @example
 * app.use(translations('locales', { fallback: 'de' }))
 * @throws BrokenTranslations when a file cannot be read, at the start and, in development, as long as it is broken
 * @throws DeclarationError when there is no such folder
 */
export function translations(folder = 'locales', options: TranslationsOptions = {}): Middleware {
  const { fallback = defaultLocale, name = 'lang', reload = currentEnvironment() === 'development' } = options
  const source = new CatalogueSource(resolve(folder), { reload, fallback })

  function localize(ctx: Context, catalogue: Catalogue): void {
    ctx.catalogue = catalogue
    letChooseLocale(ctx, {
      choose: () => localeOf(ctx, catalogue, { fallback, name }),
      match: (wanted) => chooseLocale(catalogue.locales, { chosen: [wanted], accept: '' }, fallback),
    })
  }

  function translations(ctx: Context, next: Next): unknown {
    const catalogue = source.current()
    if (ctx.catalogue !== catalogue) localize(ctx, catalogue)
    return next()
  }

  return Object.assign(translations, {
    begin: (ctx: Context) => {
      // Of several the first one speaks where no route does.
      if (!catalogueOf(ctx)) localize(ctx, source.latest)
    },
  })
}

function localeOf(ctx: Context, { locales }: Catalogue, options: { fallback: string; name: string }): string {
  const { fallback, name } = options
  if (locales.length === 1 && locales[0] === fallback) return fallback
  if (locales.length > 1) ctx.vary(['Accept-Language', 'Cookie'])
  const chosen = [ctx.cookies.get(name), ctx.hasSession ? ctx.session[name] : undefined]
  return chooseLocale(locales, { chosen, accept: ctx.get('Accept-Language') }, fallback)
}
