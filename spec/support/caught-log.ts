import { pino, type Logger } from 'pino'

/** A log that keeps its lines, for specs that read them. */
export function caughtLog(): { logger: Logger; lines: Record<string, unknown>[]; text(): string } {
  const lines: Record<string, unknown>[] = []
  const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { logger, lines, text: () => JSON.stringify(lines) }
}
