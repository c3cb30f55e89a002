import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defaultLocale } from './formatters.js'
import type { Catalog } from './catalog.js'

/** A call of `t` in a template with an id that no locale has. */
export interface UnknownText {
  id: string
  /** `posts/show.pug:3` */
  place: string
}

/** The ids that the templates of a folder pass to `t`, and that no locale has. Ids that are computed are not found. */
export function unknownTexts(catalog: Catalog, folder: string): UnknownText[] {
  if (!existsSync(folder)) return []
  const locales = [...catalog.locales, defaultLocale]
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.pug'))
    .toSorted()
    .flatMap((name) => textsIn(readFileSync(join(folder, name), 'utf8'), name))
    .filter(({ id }) => !locales.some((locale) => catalog.has(locale, id)))
}

function textsIn(template: string, name: string): UnknownText[] {
  return template.split('\n').flatMap((line, index) =>
    [...line.matchAll(/(?<![\w$.])t\(\s*(['"])([^'"]+)\1\s*[,)]/g)].map(([, , id = '']) => ({
      id,
      place: `${name}:${index + 1}`,
    })),
  )
}
