/** The maximum number of errors in a chain of causes and of characters of a text that are shown. */
const limits = { causes: 6, characters: 10_000 }

/** The fields of errors with values of a query: PostgreSQL's `detail`, MariaDB's `sql`, and TypeORM's. */
const valuesOfQueries = ['parameters', 'detail', 'sql', 'driverError']

/** A field that only the errors of queries have: those of TypeORM, MariaDB and PostgreSQL. */
const marksOfQueries = ['driverError', 'sqlState', 'severity']

/** The type of an error, and its message and stack, and those of its causes. Empty for other values. */
export function errorHead(value: object): Partial<Record<'type' | 'message' | 'stack', string>> {
  if (!(value instanceof Error)) return {}
  const chain = [...causesOf(value)]
  return {
    type: String(value.constructor?.name || value.name),
    message: toShown(chain.map(({ message }) => message).join(': ')),
    stack: toShown(chain.map(({ stack }) => stack ?? '').join('\ncaused by: ')),
  }
}

/**
 * The names of the fields of a value that are shown. For an error, they exclude what `errorHead` returns and
 * the values of a query, and include the `errors` of an AggregateError, although they are not enumerable.
 */
export function fieldsOf(value: object): string[] {
  const names = Object.keys(value)
  if (!(value instanceof Error)) return names
  const isOfQuery = marksOfQueries.some((mark) => mark in value)
  const hidden = ['message', 'stack', 'cause', 'errors', ...(isOfQuery ? valuesOfQueries : [])]
  const shown = names.filter((name) => !hidden.includes(name))
  return 'errors' in value ? [...shown, 'errors'] : shown
}

/** An error and its causes, until the limit, a cause that is not an error, or a cycle. */
export function* causesOf(error: Error): Generator<Error> {
  const seen = new Set<unknown>()
  for (
    let current: unknown = error;
    current instanceof Error && !seen.has(current);
    current = current.cause
  ) {
    yield current
    if (seen.add(current).size === limits.causes) return
  }
}

function toShown(text: string): string {
  const shown = text.length > limits.characters ? `${text.slice(0, limits.characters)}…` : text
  return withoutCredentials(shown)
}

/**
 * Replaces the user names and passwords of URLs in a string, `postgres://[FILTERED]@db.example/shop`, and the
 * tokens of stored files.
 */
export function withoutCredentials(given: string): string {
  const text = given.includes('file_')
    ? given.replaceAll(/\bfile_[\w-]{40,}\.[\w-]{43}/g, '[FILTERED]')
    : given
  return text.includes('://') ? text.replaceAll(/:\/\/[^\s/"'<>]*@/g, '://[FILTERED]@') : text
}
