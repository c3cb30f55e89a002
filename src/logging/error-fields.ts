/** The most causes of an error, and characters of its message or stack, that are shown. */
const bounds = { causes: 6, characters: 10_000 }

/** What databases repeat the values of a query in: PostgreSQL in `detail`, MySQL in `sql`; the rest is TypeORM's. */
const valuesOfQueries = ['parameters', 'detail', 'sql', 'driverError']

/** Type, message and stack of an error, with those of the causes; nothing of another value. */
export function headOf(value: object): Partial<Record<'type' | 'message' | 'stack', string>> {
  if (!(value instanceof Error)) return {}
  const chain = [...causesOf(value)]
  return {
    type: String(value.constructor?.name || value.name),
    message: bounded(chain.map(({ message }) => message).join(': ')),
    stack: bounded(chain.map(({ stack }) => stack ?? '').join('\ncaused by: ')),
  }
}

/**
 * The fields that are shown of a value. Of an error those are left out that its head shows, and of the error of a query,
 * wrapped or as its driver has made it, the values. The errors in an error are shown although they are not enumerable.
 */
export function fieldsOf(value: object): string[] {
  const names = Object.keys(value)
  if (!(value instanceof Error)) return names
  const isOfQuery = ['driverError', 'sqlState', 'severity'].some((mark) => mark in value)
  const hidden = ['message', 'stack', 'cause', 'errors', ...(isOfQuery ? valuesOfQueries : [])]
  const shown = names.filter((name) => !hidden.includes(name))
  return 'errors' in value ? [...shown, 'errors'] : shown
}

function* causesOf(error: Error): Generator<Error> {
  const seen = new Set<unknown>()
  for (let one: unknown = error; one instanceof Error && !seen.has(one); one = one.cause) {
    yield one
    if (seen.add(one).size === bounds.causes) return
  }
}

function bounded(text: string): string {
  return text.length > bounds.characters ? `${text.slice(0, bounds.characters)}…` : text
}
