import { destination, pino, type DestinationStream, type Logger } from 'pino'
import { parameterFilter, type ParameterFilter } from './http/filter.js'

/**
 * The application's log: lines of JSON, in development made readable by pino-pretty where that is installed. Silent in
 * specs. `LOG_LEVEL` sets the level.
 */
export function createLogger(environment: string): Logger {
  const level = process.env['LOG_LEVEL'] ?? (environment === 'test' ? 'silent' : 'info')
  if (environment === 'development' && process.stdout.isTTY && isInstalled('pino-pretty')) {
    return pino({
      level,
      transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname', translateTime: 'HH:MM:ss' } },
    })
  }
  return pino({ level }, (standardOutput ??= inTurns()))
}

/** What all loggers of this process write to. */
let standardOutput: DestinationStream | undefined

/**
 * So many bytes are written at once, unless one line has more. Workers share a pipe, and Linux never puts what
 * another process writes in the midst of so few (PIPE_BUF).
 */
const mostBytes = 4096

/**
 * Standard output, to which the lines of one turn of the event loop are written at once: under load that is one call of
 * the operating system for the lines of many requests. What is left is written when the process ends.
 */
function inTurns(): DestinationStream {
  const output = destination({ dest: 1, sync: true })
  let waiting = ''
  let bytes = 0
  const flush = (): void => {
    if (waiting !== '') output.write(waiting)
    waiting = ''
    bytes = 0
  }
  process.on('exit', flush)
  return {
    write(line: string) {
      const size = Buffer.byteLength(line)
      if (bytes + size > mostBytes) flush()
      if (waiting === '') setImmediate(flush)
      waiting += line
      bytes += size
    },
  }
}

/** A child of a logger, whose lines show errors without secrets. */
export function discreet(
  logger: Logger,
  bindings: Record<string, unknown> = {},
  filter?: ParameterFilter,
): Logger {
  const serialize = (error: unknown) => loggedError(error, filter)
  return logger.child(bindings, { serializers: { err: serialize, error: serialize } })
}

/** Who asks another service sends cookies, too. */
const withoutSecrets = parameterFilter({ words: ['cookie'] })

/** The most levels, members of one value, values of one error, and characters of a stack that are logged. */
const bounds = { levels: 6, members: 50, values: 500, characters: 10_000 }

/**
 * An error as the log shows it, whatever was thrown: its fields without secrets, and that of a query without the
 * values, also where it is inside of another error.
 */
export function loggedError(error: unknown, filter: ParameterFilter = withoutSecrets): unknown {
  try {
    const fields = filter(withoutSecrets(new PlainCopy().of(error)))
    return isError(error) ? { ...Object(fields), ...headOf(error) } : fields
  } catch {
    // A proxy or a getter that throws.
    return { type: 'Error', message: '[UNREADABLE]' }
  }
}

/** Type, message and stack, with those of the causes. */
function headOf(error: Error): { type: string; message: string; stack: string } {
  const chain = [...causesOf(error)]
  return {
    type: String(error.constructor?.name || error.name),
    message: bounded(chain.map(({ message }) => message).join(': ')),
    stack: bounded(chain.map(({ stack }) => stack ?? '').join('\ncaused by: ')),
  }
}

function* causesOf(error: Error): Generator<Error> {
  const seen = new Set<unknown>()
  for (let one: unknown = error; isError(one) && !seen.has(one); one = one.cause) {
    yield one
    if (seen.add(one).size === bounds.levels) return
  }
}

function bounded(text: string): string {
  return text.length > bounds.characters ? `${text.slice(0, bounds.characters)}…` : text
}

/** One copy of a value, in which errors are their fields: what is not enumerable shows, and what repeats values does not. */
class PlainCopy {
  private readonly above = new Set<object>()
  private left = bounds.values

  of(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof Date || ArrayBuffer.isView(value)) return value
    if (this.above.has(value)) return '[CIRCULAR]'
    if (this.above.size === bounds.levels || this.left <= 0) return '[TOO DEEP]'
    this.left -= 1
    this.above.add(value)
    try {
      return this.object(value)
    } catch {
      return '[UNREADABLE]'
    } finally {
      this.above.delete(value)
    }
  }

  private object(value: object): unknown {
    if (Array.isArray(value)) return value.slice(0, bounds.members).map((one) => this.of(one))
    const fields = this.fields(value)
    if (!isError(value)) return fields
    const errors: unknown = Reflect.get(value, 'errors')
    return { ...headOf(value), ...fields, ...(Array.isArray(errors) && { errors: this.of(errors) }) }
  }

  private fields(value: object): object {
    const names = Object.keys(value).filter((name) => !isLeftOut(value, name))
    return Object.fromEntries(names.slice(0, bounds.members).map((name) => [name, this.member(value, name)]))
  }

  private member(value: object, name: string): unknown {
    try {
      return this.of(Reflect.get(value, name))
    } catch {
      return '[UNREADABLE]'
    }
  }
}

/** What databases repeat the values of a query in: PostgreSQL in `detail`, MySQL in `sql`; the rest is TypeORM's. */
const valuesOfQueries = ['parameters', 'detail', 'sql', 'driverError']

/** What an error's head shows already, and of the error of a query, wrapped or as its driver has made it, the values. */
function isLeftOut(value: object, name: string): boolean {
  if (!isError(value)) return false
  if (['message', 'stack', 'cause', 'errors'].includes(name)) return true
  const isOfQuery = ['driverError', 'sqlState', 'severity'].some((mark) => mark in value)
  return isOfQuery && valuesOfQueries.includes(name)
}

function isError(value: unknown): value is Error {
  return value instanceof Error
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
