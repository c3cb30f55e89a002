import { readFileSync } from 'node:fs'
import type * as Yaml from 'yaml'
import { BrokenTranslations } from '../errors.js'
import { require } from '../common/lazy.js'

/** A text, or a text for each plural category (`one`, `other`, ...), chosen by the value `count`. */
export type Translation = string | Record<string, string>

/** A translation, with its file and line. */
export interface Entry {
  id: string
  translation: Translation
  file: string
  line: number
}

/** The plural categories of languages (CLDR). `zero` also applies to the count 0 in any language. */
const categories = new Set(['zero', 'one', 'two', 'few', 'many', 'other'])

/**
 * Reads a file of translations: a list of `id` and `translation`.
 *
 * @throws BrokenTranslations with the line
 */
export function readLocaleFile(file: string): Entry[] {
  const { LineCounter, parseDocument }: typeof Yaml = require('yaml')
  const lines = new LineCounter()
  const document = parseDocument(readText(file), { lineCounter: lines, prettyErrors: false })
  const [error] = document.errors
  if (error) throw new BrokenTranslations(file, lines.linePos(error.pos[0]).line, error.message)
  return readEntries(file, document).map((entry, index) => {
    const node = document.getIn([index], true)
    const line = isPositioned(node) ? lines.linePos(node.range[0]).line : 1
    const problem = findProblem(entry)
    if (problem !== undefined) throw new BrokenTranslations(file, line, problem)
    // Without a problem, the value is an entry.
    const { id, translation } = entry as Pick<Entry, 'id' | 'translation'>
    return { id, translation: copyTexts(translation), file, line }
  })
}

/**
 * Copies texts. The parsed texts are slices of the whole file, which needs two bytes per character if a
 * single character is beyond Latin-1. Every page that contains such a slice would need two bytes per
 * character, too.
 */
function copyTexts(translation: Translation): Translation {
  if (typeof translation === 'string') return copyText(translation)
  return Object.fromEntries(Object.entries(translation).map(([category, text]) => [category, copyText(text)]))
}

function copyText(text: string): string {
  const encoding = /[\u0100-\uffff]/.test(text) ? 'utf16le' : 'latin1'
  return Buffer.from(text, encoding).toString(encoding)
}

/** @throws BrokenTranslations for a directory, a dangling link and bytes other than UTF-8 */
function readText(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
  } catch (error) {
    const isFileError = error instanceof Error && 'syscall' in error
    const problem = isFileError ? error.message : 'The file is not encoded in UTF-8.'
    throw new BrokenTranslations(file, 1, problem)
  }
}

function readEntries(file: string, document: { toJS(): unknown }): unknown[] {
  let entries: unknown
  try {
    entries = document.toJS() ?? []
  } catch (error) {
    // For example, an alias has no anchor.
    throw new BrokenTranslations(file, 1, error instanceof Error ? error.message : String(error))
  }
  if (Array.isArray(entries)) return entries
  throw new BrokenTranslations(file, 1, 'The file must be a list of entries with "id" and "translation".')
}

/** Returns the problem of an entry, or undefined if it is valid. */
function findProblem(entry: unknown): string | undefined {
  if (!isObject(entry) || typeof entry['id'] !== 'string' || entry['id'] === '') {
    return 'Each entry needs an "id" and a "translation".'
  }
  const { id, translation, ...others } = entry
  const [unknownKey] = Object.keys(others)
  if (unknownKey !== undefined)
    return `The entry "${id}" has an unknown key "${unknownKey}". Use only "id" and "translation".`
  if (typeof translation === 'string') return undefined
  if (!isObject(translation))
    return `The translation of "${id}" must be text. Put it in quotes if YAML reads it as another type.`
  const wrongForm = Object.entries(translation).find(([, text]) => typeof text !== 'string')
  if (wrongForm) return `The plural form "${wrongForm[0]}" of "${id}" must be text.`
  const unknownForm = Object.keys(translation).find((category) => !categories.has(category))
  if (unknownForm !== undefined) {
    return `"${unknownForm}" of "${id}" isn't a plural form. Use ${[...categories].join(', ')}.`
  }
  return 'other' in translation ? undefined : `The plural form "other" of "${id}" is missing.`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isPositioned(node: unknown): node is { range: [number, number, number] } {
  return typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)
}
