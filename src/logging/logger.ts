import { destination, pino, type DestinationStream, type Logger } from 'pino'
import { DeclarationError } from '../errors.js'
import { errorHead } from './error-fields.js'
import { parameterFilter } from './filter.js'

/**
 * Creates the application's logger. It writes lines of JSON. In development, pino-pretty formats them if it
 * is installed and the output is a terminal. `LOG_LEVEL` sets the level, which is `silent` in the test
 * environment and else `info`.
 *
 * @throws DeclarationError when there is no such level
 */
export function createLogger(environment: string): Logger {
  const level = process.env['LOG_LEVEL'] || (environment === 'test' ? 'silent' : 'info')
  const levels = [...Object.keys(pino.levels.values), 'silent']
  if (!levels.includes(level))
    throw new DeclarationError(`LOG_LEVEL is "${level}". Set it to one of ${levels.join(', ')}.`)
  if (environment === 'development' && process.stdout.isTTY && isInstalled('pino-pretty')) {
    // The process does not matter in development, and the message of a request contains the other fields.
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

/** The stream to which all loggers of this process write JSON. */
let standardOutput: DestinationStream | undefined

/**
 * The maximum number of bytes in one write, unless a single line has more. Workers share a pipe, and Linux
 * does not interleave writes up to this size (PIPE_BUF).
 */
const maxBytes = 4096

/**
 * Standard output, to which the lines of one turn of the event loop are written at once: under load, one
 * system call writes the lines of many requests. The remaining lines are written when the process ends.
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

/** Creates a child logger that writes errors by `loggedError`, in the fields `err` and `error`. */
export function withRedactedErrors(
  logger: Logger,
  bindings: Record<string, unknown> = {},
  filter?: (values: unknown) => unknown,
): Logger {
  const serialize = (error: unknown) => loggedError(error, filter)
  return logger.child(bindings, { serializers: { err: serialize, error: serialize } })
}

const defaultFilter = parameterFilter()

/** Serializes any thrown value for the log, without secrets and values of queries, also in causes. */
export function loggedError(error: unknown, filter: (values: unknown) => unknown = defaultFilter): unknown {
  try {
    const fields = filter(error)
    // The filter shortens strings, and `errorHead` has more of the message and the stack.
    return error instanceof Error ? { ...Object(fields), ...errorHead(error) } : fields
  } catch {
    // `instanceof` or `errorHead` has read a proxy or a getter that throws.
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
