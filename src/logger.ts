import { pino, stdSerializers, type Logger, type SerializedError } from 'pino'

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

/** An error as the log shows it. That of a query leaves out the values, which may be secrets. */
export function loggedError(error: Error): SerializedError | object {
  const fields = stdSerializers.err(error)
  if (typeof error !== 'object' || !('driverError' in error)) return fields
  // Databases repeat the values: PostgreSQL in `detail`, MySQL in `sql`. The rest of `driverError` is there already.
  const { parameters: _parameters, detail: _detail, sql: _sql, driverError: _driverError, ...shown } = fields
  return shown
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
