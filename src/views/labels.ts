import { humanize } from '../names.js'
import type { ViewContext } from './view-context.js'

/**
 * Returns the label of an attribute: its translation, else its humanized name.
 *
 * @param id model and attribute: `post.published_at`, which is "Published at" unless a locale file has this id
 */
export function label(context: ViewContext, id: string): string {
  const text = context.t(id)
  const isTranslated = context.has ? context.has(id) : text !== id
  return isTranslated ? text : humanize(id.slice(id.lastIndexOf('.') + 1))
}
