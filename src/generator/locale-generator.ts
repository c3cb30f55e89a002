import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { parse, stringify } from 'yaml'
import { CommandError } from '../command-errors.js'
import { memoize } from '../common/memoize.js'
import { frameworkCatalog, frameworkLocales, languageOf, localeFiles } from '../translations/catalog.js'
import { canonicalLocale, pluralRules } from '../translations/formatters.js'
import { readLocaleFile, type Entry, type Translation } from '../translations/locale-file.js'
import type { FileAction } from './files/files.js'
import { frameworkScaffolds } from './files/templates.js'

type Text = Pick<Entry, 'id' | 'translation'>

/**
 * Returns the steps that add a language: each file with English texts gets a file with the same ids and the translations of
 * the framework, or empty ones. Existing files keep their texts, and get the ids that the language lacks.
 *
 * @param folder the application's folder
 * @param word the language: `de`, `pt-BR`
 * @throws CommandError
 */
export function localeActions(folder: string, word: string): FileAction[] {
  const locale = parseLocale(word)
  const existing = idsOf(folder, locale)
  const actions = sourcesOf(folder, locale).flatMap(({ source, path }) => {
    const entries = readLocaleFile(source).filter(({ id }) => !existing.has(id))
    return entries.length > 0 ? [writing(folder, path, entries, locale)] : []
  })
  if (actions.length > 0) return actions
  throw new CommandError(`The files of ${locale} already have every id of the English texts.`)
}

/**
 * Returns the steps that add the texts of a new English file to each other language of the application, with the
 * translations of the framework, or empty ones.
 *
 * @param english the file, which is not written yet
 */
export function translationActions(folder: string, english: { path: string; content: string }): FileAction[] {
  const texts: Text[] = parse(english.content)
  return otherLocales(folder).flatMap((locale) => {
    const known = idsOf(folder, locale)
    const missing = texts.filter(({ id }) => !known.has(id))
    const path = `${nameOf(english.path)}.${locale.toLowerCase()}.yaml`
    return missing.length > 0 ? [writing(folder, path, missing, locale)] : []
  })
}

/**
 * Returns the steps that remove a language, and a function that returns a warning about a file.
 *
 * @throws CommandError
 */
export function localeDestruction(folder: string, word: string) {
  const locale = parseLocale(word)
  const actions = filesOf(folder, locale).map((file) => ({ path: pathOf(folder, file), content: '' }))
  if (actions.length === 0) throw new CommandError(`There are no texts in ${locale} in the folder locales.`)
  return { actions, remark: (path: string) => Promise.resolve(translationWarning(folder, path)) }
}

/** The files with the translations of a file of English texts, which are removed with it: `locales/posts.de.yaml`. */
export function translationsOf(folder: string, path: string): FileAction[] {
  const name = nameOf(path)
  return allFiles(folder)
    .map(({ file }) => pathOf(folder, file))
    .filter((other) => other !== path && nameOf(other) === name)
    .map((other) => ({ path: other, content: '' }))
}

/** The ids of the English texts in other files than that of a resource. */
export function otherIds(folder: string, resource: string): ReadonlySet<string> {
  const others = allFiles(folder).filter(
    ({ file, locale }) => isEnglish(locale) && nameOf(pathOf(folder, file)) !== `locales/${resource}`,
  )
  return new Set(others.flatMap(({ file }) => idsIn(file)))
}

/** A warning about a file that contains translations. */
export function translationWarning(folder: string, path: string): string | undefined {
  const count = readLocaleFile(join(folder, path)).filter(({ translation }) => isWritten(translation)).length
  return count > 0 ? `${path} contains ${count} ${count > 1 ? 'translations' : 'translation'}.` : undefined
}

function parseLocale(word: string): string {
  const locale = /^[a-z]{2,3}(-[a-z0-9]+)*$/i.test(word) ? canonicalLocale(word) : undefined
  if (locale === undefined) {
    throw new CommandError(`"${word}" isn't a language. Use a code such as de, fr or pt-BR.`)
  }
  if (isEnglish(locale)) {
    throw new CommandError(`${locale} is the language that others are translated from. Choose another one.`)
  }
  return locale
}

function isEnglish(locale: string): boolean {
  return locale === 'en' || locale === 'en-US'
}

/** The files with English texts, and the paths of their translations. */
function sourcesOf(folder: string, locale: string): { source: string; path: string }[] {
  const isTranslated = frameworkCatalog().locales.some((known) => languageOf(known) === languageOf(locale))
  const own = ['en', 'en-US'].flatMap((english) => filesOf(folder, english))
  const sources = own.map((source) => ({ source, name: nameOf(pathOf(folder, source)) }))
  const framework = { source: join(frameworkLocales, 'kit.en-us.yaml'), name: 'locales/kit' }
  return (isTranslated ? sources : [...sources, framework]).map(({ source, name }) => ({
    source,
    path: `${name}.${locale.toLowerCase()}.yaml`,
  }))
}

function idsOf(folder: string, locale: string): ReadonlySet<string> {
  return new Set(filesOf(folder, locale).flatMap(idsIn))
}

function idsIn(file: string): string[] {
  const stats = statSync(file, { throwIfNoEntry: false })
  return idsOfState(`${file}\0${stats?.mtimeMs}\0${stats?.size}`)
}

/** Reads the ids of a file with a path, time and size once: each of the resources that a process generates needs those of all files. */
const idsOfState = memoize((state) => readLocaleFile(state.replace(/\0.*/, '')).map(({ id }) => id), 1000)

/** The languages of an application, except English. */
function otherLocales(folder: string): string[] {
  return [...new Set(allFiles(folder).map(({ locale }) => locale))].filter((locale) => !isEnglish(locale))
}

function filesOf(folder: string, locale: string): string[] {
  return localeFiles(join(folder, 'locales')).flatMap((one) => (one.locale === locale ? [one.file] : []))
}

/** The locale files of an application, which may have no folder for them. */
function allFiles(folder: string) {
  const locales = join(folder, 'locales')
  return existsSync(locales) ? localeFiles(locales) : []
}

/** `locales/posts.de.yaml` -> `locales/posts` */
function nameOf(path: string): string {
  return join(dirname(path), basename(path).replace(/\.[^.]+\.ya?ml$/i, ''))
}

function pathOf(folder: string, file: string): string {
  return relative(folder, file).replaceAll(sep, '/')
}

function writing(folder: string, path: string, entries: readonly Text[], locale: string): FileAction {
  const known = knownTranslations(path, locale)
  const text = entries.map((entry) => translatedEntry(entry, known) ?? emptyEntry(entry, locale)).join('')
  if (!existsSync(join(folder, path))) return { path, content: text }
  return {
    path,
    what: `${entries.length} ids`,
    insert: (before) => `${before.trimEnd()}\n${text}`,
    remove: (after) => after,
    leftover: () => undefined,
  }
}

/** The translations of the texts that a generator writes to a file, by the English text: those of `locales/authentication`. */
function knownTranslations(path: string, locale: string): ReadonlyMap<unknown, string> {
  const file = join(frameworkScaffolds, `locales/${basename(nameOf(path))}.${languageOf(locale)}.yaml`)
  return new Map(existsSync(file) ? Object.entries(parse(readFileSync(file, 'utf8'))) : [])
}

/** An entry whose translation is known; undefined for another one. */
function translatedEntry({ id, translation }: Text, known: ReadonlyMap<unknown, string>): string | undefined {
  const text = known.get(translation)
  return text === undefined
    ? undefined
    : `- id: ${stringify(id).trim()}\n  translation: ${stringify(text, { lineWidth: 0 })}`
}

/** An entry to be translated, with the English text as a comment. */
function emptyEntry({ id, translation }: Text, locale: string): string {
  const isPlural = typeof translation !== 'string'
  // Sorted, because versions of Node.js have other orders.
  const forms = pluralRules(locale).resolvedOptions().pluralCategories.toSorted()
  const english = isPlural ? stringify(translation) : translation
  const comment = english.trim().replaceAll(/^/gm, '# ')
  const empty = isPlural ? `\n${forms.map((form) => `    ${form}: ''\n`).join('')}` : " ''\n"
  return `${comment}\n- id: ${stringify(id).trim()}\n  translation:${empty}`
}

function isWritten(translation: Translation): boolean {
  return typeof translation === 'string' ? translation !== '' : Object.values(translation).some(Boolean)
}
