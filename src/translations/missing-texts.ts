import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { languageOf, type Catalog } from './catalog.js'
import { defaultLocale } from './formatters.js'

/**
 * Finds the ids that the templates of a folder pass to `t`, and that no locale has, with their places:
 * `posts/show.pug:3`. It cannot find ids that are computed.
 */
export function unknownTexts(catalog: Catalog, folder: string): [id: string, place: string][] {
  if (!existsSync(folder)) return []
  const locales = [...catalog.locales, defaultLocale]
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.pug'))
    .toSorted()
    .flatMap((name) => findCalls(readFileSync(join(folder, name), 'utf8'), name))
    .filter(([id]) => !locales.some((locale) => catalog.has(locale, id)))
}

function findCalls(template: string, name: string): [id: string, place: string][] {
  const calls = /(?<![\w$.])t\(\s*(['"])([^'"]+)\1\s*[,)]/g
  return template
    .split('\n')
    .flatMap((line, index) =>
      [...line.matchAll(calls)].map(([, , id = '']): [string, string] => [id, `${name}:${index + 1}`]),
    )
}

/**
 * Finds the ids that have a translation, but none in a locale and its language, or one with an empty plural
 * form. Returns each id with what pages show instead: the translation of another language, or the id.
 */
export function missingTexts(catalog: Catalog, locale: string): [id: string, shown: string][] {
  const texts = catalog.textsFor(locale)
  return idsOf(catalog).flatMap((id) => {
    const text = texts.get(id)
    if (text && languageOf(text.locale) === languageOf(locale) && !isIncomplete(text.translation)) return []
    return [[id, catalog.translate(locale, id) ?? id]]
  })
}

/** The ids of all locales, and of the framework, in alphabetical order. */
function idsOf(catalog: Catalog): string[] {
  const all = [...catalog.locales, defaultLocale].flatMap((locale) => [...catalog.textsFor(locale).keys()])
  return [...new Set(all)].toSorted()
}

/** Whether a plural form is empty. */
function isIncomplete(translation: string | Record<string, string>): boolean {
  return typeof translation !== 'string' && Object.values(translation).includes('')
}
