/** The maximum number of causes of an error, and of characters of its message or stack, that are shown. */
const limits = { causes: 6, characters: 10_000 }

/** The fields in which errors repeat the values of a query: PostgreSQL in `detail`, MySQL in `sql`, TypeORM in the others. */
const valuesOfQueries = ['parameters', 'detail', 'sql', 'driverError']

/** The type, message and stack of an error and of its causes. Any other value has none. */
export function errorHead(value: object): Partial<Record<'type' | 'message' | 'stack', string>> {
  if (!(value instanceof Error)) return {}
  const chain = [...causesOf(value)]
  return {
    type: String(value.constructor?.name || value.name),
    message: shorten(chain.map(({ message }) => message).join(': ')),
    stack: shorten(chain.map(({ stack }) => stack ?? '').join('\ncaused by: ')),
  }
}

/**
 * The fields of a value that are shown. Omits the fields that the head of an error shows, and the values in the error of a
 * query, whether it is wrapped or not. Includes the errors in an error, although they are not enumerable.
 */
export function fieldsOf(value: object): string[] {
  const names = Object.keys(value)
  if (!(value instanceof Error)) return names
  const isOfQuery = ['driverError', 'sqlState', 'severity'].some((mark) => mark in value)
  const hidden = ['message', 'stack', 'cause', 'errors', ...(isOfQuery ? valuesOfQueries : [])]
  const shown = names.filter((name) => !hidden.includes(name))
  return 'errors' in value ? [...shown, 'errors'] : shown
}

/** An error and its causes. */
export function* causesOf(error: Error): Generator<Error> {
  const seen = new Set<unknown>()
  for (let one: unknown = error; one instanceof Error && !seen.has(one); one = one.cause) {
    yield one
    if (seen.add(one).size === limits.causes) return
  }
}

function shorten(text: string): string {
  const shown = text.length > limits.characters ? `${text.slice(0, limits.characters)}…` : text
  return withoutCredentials(shown)
}

/** A text without the names and passwords in its URLs: `postgres://[FILTERED]@db.example/shop`. */
export function withoutCredentials(text: string): string {
  return text.includes('://') ? text.replaceAll(/:\/\/[^\s/"'<>]*@/g, '://[FILTERED]@') : text
}
