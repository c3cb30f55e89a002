import { humanize } from '../naming/words.js'
import type { ViewContext } from './view-context.js'

/**
 * Returns the label of an attribute: its translation, else its humanized name.
 *
 * @param id model and attribute: `post.published_at`, which is "Published at" unless a locale file has this
 *   id
 */
export function label(context: ViewContext, id: string): string {
  const text = context.t(id)
  // An id without a translation is returned as it is, and a text may be the same as its id.
  return text !== id || isTranslated(context, id) ? text : humanize(id.slice(id.lastIndexOf('.') + 1))
}

/** Whether an id has a translation. */
export function isTranslated(context: ViewContext, id: string): boolean {
  return context.has ? context.has(id) : context.t(id) !== id
}
