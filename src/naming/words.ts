import { humanize as humanizeWord, underscore } from 'inflection'
import { memoize } from '../common/memoize.js'
import { pluralOf, singularOf } from './inflections.js'

/** The name of a class's records in XML and in locale ids: `BlogPost` -> `blog_post`. */
export const recordName = memoize((className) => underscore(className), 1000)

/** Returns the name of a collection: `blog_post` -> `blog_posts`. */
export function collectionName(name: string): string {
  return ofLastWord(name, pluralOf)
}

/** Returns the name of an item: `blog_posts` -> `blog_post`. */
export function itemName(name: string): string {
  return ofLastWord(name, singularOf)
}

function ofLastWord(name: string, change: (word: string) => string): string {
  const [, prefix = '', last = name] = /^(.*_)?([^_]+)$/.exec(name) ?? []
  return prefix + change(last)
}

/**
 * Humanizes the name of a field: `published_at` -> `Published at`, `author_id` -> `Author`, `label_ids` ->
 * `Labels`, `api_url` -> `API URL`.
 */
export const humanize = memoize((field) => capitalizeAcronyms(humanizeWord(removeIds(field))), 1000)

/** The names of a record and of several ones in sentences. */
export interface Words {
  one: string
  many: string
  One: string
  Many: string
  aOne: string
}

/** Returns the names of `blog_post` and `blog_posts` in texts: `blog post`, `Blog posts`, `a blog post`. */
export function wordsOf(singular: string, plural: string): Words {
  const [One, Many] = [humanize(singular), humanize(plural)]
  const one = inSentence(One)
  // The article of an acronym depends on its first letter as it is spoken: an HTML page, a URL.
  const article = /^([aeio]|u(?!ni|s)|[AEFHILMNORSX][A-Z])/.test(one) ? 'an' : 'a'
  return { one, many: inSentence(Many), One, Many, aOne: `${article} ${one}` }
}

/** A name inside of a sentence: `Blog post` -> `blog post`, but `URLs` does not change. */
function inSentence(words: string): string {
  return words.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase())
}

/** Removes the ending of a list of ids: `label_ids` -> `labels`. The library removes `_id` itself. */
function removeIds(field: string): string {
  return field.endsWith('_ids') ? collectionName(field.slice(0, -'_ids'.length)) : field
}

/** Writes words that are acronyms in capitals: `Book isbn` -> `Book ISBN`, `urls` -> `URLs`. */
function capitalizeAcronyms(words: string): string {
  return words.replaceAll(/[a-z]+/gi, (word) => {
    const acronym = word.toLowerCase()
    if (acronyms.has(acronym)) return acronym.toUpperCase()
    return acronym.endsWith('s') && acronyms.has(acronym.slice(0, -1))
      ? `${acronym.slice(0, -1).toUpperCase()}s`
      : word
  })
}

/** Acronyms that cannot be mistaken for words. */
const acronyms = new Set(
  [
    'api bic cpu css csv dns dvd faq ftp gif gps html http https iban id imap ip isbn issn jpeg jpg json',
    'pdf png rss sku sms smtp sql ssh ssl svg tcp tls tv udp ui uri url usb utc uuid vat vip vpn www xml yaml',
  ].flatMap((line) => line.split(' ')),
)
