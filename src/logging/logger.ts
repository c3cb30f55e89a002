import { destination, pino, type DestinationStream, type Logger } from 'pino'
import { errorHead } from './error-fields.js'
import { parameterFilter } from './filter.js'

/**
 * Creates the application's log: lines of JSON, formatted by pino-pretty in development if it is installed. Silent in
 * specs. `LOG_LEVEL` sets the level.
 */
export function createLogger(environment: string): Logger {
  const level = process.env['LOG_LEVEL'] ?? (environment === 'test' ? 'silent' : 'info')
  if (environment === 'development' && process.stdout.isTTY && isInstalled('pino-pretty')) {
    // The message of a request contains them.
    const ignore = 'pid,hostname,method,path,status,queries,db_ms'
    return pino({
      level,
      transport: {
        target: 'pino-pretty',
        options: { singleLine: true, translateTime: 'HH:MM:ss', ignore },
      },
    })
  }
  return pino({ level }, (standardOutput ??= bufferedOutput()))
}

/** The stream to which all loggers of this process write. */
let standardOutput: DestinationStream | undefined

/**
 * The bytes that are written at once, unless one line has more. Workers share a pipe, and Linux does not interleave writes
 * of this size (PIPE_BUF).
 */
const maxBytes = 4096

/**
 * Standard output, to which the lines of one turn of the event loop are written at once: under load, one system call writes
 * the lines of many requests. The remaining lines are written when the process ends.
 */
function bufferedOutput(): DestinationStream {
  const output = destination({ dest: 1, sync: true })
  let buffer = ''
  let bytes = 0
  const flush = (): void => {
    if (buffer !== '') output.write(buffer)
    buffer = ''
    bytes = 0
  }
  process.on('exit', flush)
  return {
    write(line: string) {
      const size = Buffer.byteLength(line)
      if (bytes + size > maxBytes) flush()
      if (buffer === '') setImmediate(flush)
      buffer += line
      bytes += size
    },
  }
}

/** Creates a child logger that redacts secrets in errors. */
export function withRedactedErrors(
  logger: Logger,
  bindings: Record<string, unknown> = {},
  filter?: (values: unknown) => unknown,
): Logger {
  const serialize = (error: unknown) => loggedError(error, filter)
  return logger.child(bindings, { serializers: { err: serialize, error: serialize } })
}

const withoutSecrets = parameterFilter()

/**
 * Serializes any thrown value for the log: its fields without secrets, and the error of a query without the values, also
 * inside another error.
 */
export function loggedError(error: unknown, filter: (values: unknown) => unknown = withoutSecrets): unknown {
  try {
    const fields = filter(error)
    return error instanceof Error ? { ...Object(fields), ...errorHead(error) } : fields
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
