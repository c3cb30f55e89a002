import { destination, pino, type DestinationStream, type Logger } from 'pino'
import { headOf } from './error-fields.js'
import { parameterFilter, type ParameterFilter } from './filter.js'

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

/**
 * An error as the log shows it, whatever was thrown: its fields without secrets, and that of a query without the
 * values, also where it is inside of another error.
 */
export function loggedError(error: unknown, filter: ParameterFilter = withoutSecrets): unknown {
  try {
    const fields = filter(withoutSecrets(error))
    return error instanceof Error ? { ...Object(fields), ...headOf(error) } : fields
  } catch {
    // A proxy or a getter that throws.
    return { type: 'Error', message: '[UNREADABLE]' }
  }
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
