import { pino, type Logger } from 'pino'

/** A log that keeps its lines, for specs that read them. */
export interface CapturedLog {
  /** The logger, for the `logger` option of an application. */
  logger: Logger
  /** The lines so far. */
  lines: Record<string, unknown>[]
  /** All lines as one JSON text, to search in. */
  text(): string
}

/**
 * Collects the log of an application.
 *
 * @example
 * const log = captureLog()
 * const app = new App({ logger: log.logger })
 */
export function captureLog(): CapturedLog {
  const lines: Record<string, unknown>[] = []
  const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { logger, lines, text: () => JSON.stringify(lines) }
}
