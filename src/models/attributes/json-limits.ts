/** Whether lists and objects are nested too deep for JSON.stringify, transformers and the log. */
export function isTooDeep(value: unknown, levels = 100): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1))
}

/** Whether a value, or an object inside of it, has a key. Check `isTooDeep` first. */
export function hasKey(value: unknown, key: string): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.hasOwn(value, key) || Object.values(value).some((inner) => hasKey(inner, key))
}

/**
 * Whether JSON has a key that TypeORM would lose (`__proto__`), or with which it could not update the row
 * again, or text with half a surrogate pair, which MariaDB and the type jsonb reject.
 */
export function isUnstorable(json: unknown): boolean {
  return hasKey(json, '__proto__') || hasKey(json, 'hasOwnProperty') || hasMalformedText(json)
}

function hasMalformedText(json: unknown): boolean {
  if (typeof json === 'string') return !json.isWellFormed()
  if (typeof json !== 'object' || json === null) return false
  return Object.entries(json).some(([key, value]) => !key.isWellFormed() || hasMalformedText(value))
}

/** The maximum number of values in a JSON or XML body, unless the application sets `membersLimit`. */
export const defaultMembersLimit = 10_000

const [quote, backslash, comma, openList, openObject] = [...'"\\,[{'].map((sign) => sign.charCodeAt(0))

/**
 * Whether JSON text has more members than `limit`, including the items of lists. Check it before you parse
 * the text, because creating many small values is far slower than reading them. An empty list or object
 * counts as one member.
 */
export function hasTooManyMembers(text: string, limit: number): boolean {
  let members = 0
  let isInText = false
  for (let position = 0; position < text.length; position++) {
    const code = text.charCodeAt(position)
    if (isInText && code === backslash) position++
    else if (code === quote) isInText = !isInText
    else if (!isInText && (code === comma || code === openList || code === openObject)) {
      if (++members > limit) return true
    }
  }
  return false
}
