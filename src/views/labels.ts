import { humanize } from '../names.js'
import type { ViewContext } from './view-context.js'

/**
 * The words for an attribute: its translation, else its name for people.
 *
 * @param id model and attribute: `post.published_at`, which is "Published at" unless a locale file has that id
 */
export function label(context: ViewContext, id: string): string {
  const text = context.t(id)
  const isTranslated = context.has ? context.has(id) : text !== id
  return isTranslated ? text : humanize(id.slice(id.lastIndexOf('.') + 1))
}
