import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
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
 * @throws CommandError when the language is malformed, is English, or already has every id
 */
export function localeActions(folder: string, word: string): FileAction[] {
  const locale = parseLocale(word)
  const isTranslated = frameworkCatalog().locales.some((known) => languageOf(known) === languageOf(locale))
  const framework = { file: join(frameworkLocales, 'kit.en-us.yaml'), name: 'locales/kit' }
  const english = filesOf(folder, true).filter((one) => isEnglish(one.locale))
  const sources = isTranslated ? english : [...english, framework]
  const actions = sources.flatMap(({ file, name }) => additionsTo(folder, name, readLocaleFile(file), locale))
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
  const locales = new Set(filesOf(folder).map(({ locale }) => locale))
  return [...locales].flatMap((locale) =>
    isEnglish(locale) ? [] : additionsTo(folder, nameOf(english.path), texts, locale),
  )
}

/**
 * Returns the files of a language, which `kit destroy` deletes, and a function that returns a warning about a file.
 *
 * @throws CommandError when the language is malformed, is English, or has no files
 */
export function localeDestruction(folder: string, word: string) {
  const locale = parseLocale(word)
  const files = filesOf(folder, true).filter((one) => one.locale === locale)
  if (files.length === 0) throw new CommandError(`There are no texts in ${locale} in the folder locales.`)
  return {
    actions: files.map(({ path }) => ({ path, content: '' })),
    remark: (path: string) => Promise.resolve(translationWarning(folder, path)),
  }
}

/** The files with the translations of a file of English texts, which are removed with it: `locales/posts.de.yaml`. */
export function translationsOf(folder: string, english: string): FileAction[] {
  return filesOf(folder)
    .filter(({ path, name }) => path !== english && name === nameOf(english))
    .map(({ path }) => ({ path, content: '' }))
}

/** The ids of the English texts, except for those in the file of a resource. */
export function otherIds(folder: string, resource: string): ReadonlySet<string> {
  return idsOf(
    filesOf(folder).filter(({ locale, name }) => isEnglish(locale) && name !== `locales/${resource}`),
  )
}

/** A warning about a file that contains translations, or is malformed. */
export function translationWarning(folder: string, path: string): string | undefined {
  let entries: readonly Entry[]
  try {
    entries = readLocaleFile(join(folder, path))
  } catch (error) {
    return `${path} may contain translations: ${error instanceof Error ? error.message : String(error)}`
  }
  const count = entries.filter(({ translation }) => isWritten(translation)).length
  return count > 0 ? `${path} contains ${count} ${count > 1 ? 'translations' : 'translation'}.` : undefined
}

/** @throws CommandError when the language is malformed, or is English */
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

/** The locale files of an application. If they are required, a missing folder is an error. */
function filesOf(folder: string, areRequired = false) {
  const locales = join(folder, 'locales')
  const files = areRequired || existsSync(locales) ? localeFiles(locales) : []
  return files.map(({ file, locale }) => {
    const path = relative(folder, file).replaceAll(sep, '/')
    return { file, path, name: nameOf(path), locale }
  })
}

/** `locales/posts.de.yaml` -> `locales/posts` */
function nameOf(path: string): string {
  return path.replace(/\.[^./]+\.ya?ml$/i, '')
}

function idsOf(files: readonly { file: string }[]): ReadonlySet<string> {
  return new Set(
    files.flatMap(({ file }) => {
      const stats = statSync(file, { throwIfNoEntry: false })
      return idsOfState(`${file}\0${stats?.mtimeMs}\0${stats?.size}`)
    }),
  )
}

/** Reads the ids of a file once for each path, time and size. A process that generates several resources reads the same files. */
const idsOfState = memoize((state) => readLocaleFile(state.replace(/\0.*/, '')).map(({ id }) => id), 1000)

/** The step that adds the texts that a language lacks to its file; none if the language has all of them. */
function additionsTo(folder: string, name: string, texts: readonly Text[], locale: string): FileAction[] {
  const existing = idsOf(filesOf(folder).filter((one) => one.locale === locale))
  const missing = texts.filter(({ id }) => !existing.has(id))
  if (missing.length === 0) return []
  const path = `${name}.${locale.toLowerCase()}.yaml`
  const known = knownTranslations(name, locale)
  const content = missing.map((text) => entryOf(text, locale, known)).join('')
  if (!existsSync(join(folder, path))) return [{ path, content }]
  const insert = (before: string) => `${before.trimEnd()}\n${content}`
  // `kit destroy` does not undo this step: it deletes the file.
  return [{ path, what: `${missing.length} ids`, insert, remove: (after) => after }]
}

/**
 * The translations of the texts that a generator writes to a file, by the English text: those of `locales/authentication`,
 * and the messages of every resource, which name no model: a noun would need its gender.
 */
function knownTranslations(name: string, locale: string): ReadonlyMap<unknown, string> {
  const files = ['resource', basename(name)].map((one) =>
    join(frameworkScaffolds, `locales/${one}.${languageOf(locale)}.yaml`),
  )
  return new Map(
    files.flatMap((file) => (existsSync(file) ? Object.entries(parse(readFileSync(file, 'utf8'))) : [])),
  )
}

/** An entry with its known translation, or one to be translated, with the English text as a comment. */
function entryOf({ id, translation }: Text, locale: string, known: ReadonlyMap<unknown, string>): string {
  const start = `- id: ${stringify(id).trim()}\n  translation:`
  const isMessage = id.endsWith('.success') && typeof translation === 'string'
  const text =
    known.get(translation) ??
    (isMessage ? known.get(translation.replace(/^The .+? was /, 'It was ')) : undefined)
  if (text !== undefined) return `${start} ${stringify(text, { lineWidth: 0 })}`
  const isPlural = typeof translation !== 'string'
  const english = isPlural ? stringify(translation) : translation
  // Sorted, because the order depends on the version of Node.js.
  const forms = pluralRules(locale).resolvedOptions().pluralCategories.toSorted()
  const empty = isPlural ? `\n${forms.map((form) => `    ${form}: ''\n`).join('')}` : " ''\n"
  return `${english.trim().replaceAll(/^/gm, '# ')}\n${start}${empty}`
}

function isWritten(translation: Translation): boolean {
  return typeof translation === 'string' ? translation !== '' : Object.values(translation).some(Boolean)
}
