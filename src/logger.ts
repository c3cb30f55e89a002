import { pino, type Logger } from 'pino'

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
  return pino({ level })
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
