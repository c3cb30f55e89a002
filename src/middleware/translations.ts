import { readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Context, Middleware } from '../context.js'
import { currentEnvironment } from '../environment.js'
import { Catalogue, defaultLocale, frameworkLocales } from '../translations/catalogue.js'

/** What `translations()` takes beside the folder. */
export interface TranslationsOptions {
  /** Whether changed files are read anew. By default in development. */
  reload?: boolean
}

/**
 * Reads the application's texts from a folder of files `<name>.<locale>.yaml`, and chooses each request's locale: the
 * cookie `lang`, the session's `lang`, `Accept-Language`, else `en-US`.
 *
 * @example app.use(translations('locales'))
 * @throws BrokenTranslations when a file can not be read
 */
export function translations(folder = 'locales', options: TranslationsOptions = {}): Middleware {
  const folders = [frameworkLocales, resolve(folder)]
  const reload = options.reload ?? currentEnvironment() === 'development'
  let catalogue = new Catalogue(folders)
  let stamp = stampOf(folders)

  return async function translations(ctx, next) {
    if (reload && stamp !== stampOf(folders)) {
      catalogue = new Catalogue(folders)
      stamp = stampOf(folders)
    }
    ctx.catalogue = catalogue
    ctx.locale = chooseLocale(ctx, catalogue.locales)
    await next()
  }
}

function chooseLocale(ctx: Context, known: string[]): string {
  const wanted = [ctx.cookies.get('lang'), ctx.session?.['lang']]
  const kept = wanted.map((locale) => match(locale, known)).find((locale) => locale !== undefined)
  if (kept) return kept
  const accepted = ctx.get('Accept-Language') ? [ctx.acceptsLanguages()].flat() : []
  for (const language of accepted) {
    const locale = match(language, known)
    if (locale) return locale
  }
  return defaultLocale
}

/** The known locale that a wanted one means: itself, its language, or the first of its language. */
function match(wanted: unknown, known: string[]): string | undefined {
  if (typeof wanted !== 'string' || wanted === '') return undefined
  const lower = wanted.toLowerCase()
  const [language = lower] = lower.split('-')
  const found =
    known.find((locale) => locale === lower) ??
    known.find((locale) => locale === language) ??
    known.find((locale) => locale.split('-')[0] === language)
  return found && Intl.getCanonicalLocales(found)[0]
}

/** When the files of the folders were last written, and which they are. */
function stampOf(folders: string[]): string {
  return folders
    .flatMap((folder) => readdirSync(folder).map((name) => `${name}:${statSync(join(folder, name)).mtimeMs}`))
    .join()
}
