/** Whether lists and objects are nested too deep for what walks through them: JSON.stringify, transformers, the log. */
export function isTooDeep(value: unknown, levels = 100): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1))
}

/** Whether an object in it has a key `__proto__`, which TypeORM would not keep. */
export function namesPrototype(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(namesPrototype)
}

/** The most members of JSON objects and lists that are read, unless an application sets `membersLimit`. */
export const usualMembers = 10_000

const [quote, backslash, comma, openList, openObject] = [...'"\\,[{'].map((it) => it.charCodeAt(0))

/**
 * Whether JSON text has more members than `most`, items of lists included. It is asked before the text is parsed, because
 * making many small values costs far more than reading them; an empty list or object counts as one member.
 */
export function hasTooManyMembers(text: string, most: number): boolean {
  let members = 0
  let isInText = false
  for (let position = 0; position < text.length; position++) {
    const code = text.charCodeAt(position)
    if (isInText && code === backslash) position++
    else if (code === quote) isInText = !isInText
    else if (!isInText && (code === comma || code === openList || code === openObject)) {
      if (++members > most) return true
    }
  }
  return false
}
