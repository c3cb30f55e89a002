import { join } from 'node:path'
import type { DatabaseConfig } from 'resource-kit'

/** The database of each environment. If DATABASE_URL is set, it overrides the url. */
export default {
  development: { url: 'sqlite:db/development.sqlite' },
  test: { url: 'sqlite:db/test.sqlite' },
  production: { url: 'sqlite:db/production.sqlite' },

  models: [join(import.meta.dirname, 'src/models/*.js')],
  migrations: [join(import.meta.dirname, 'migrations/*.js')],
} satisfies DatabaseConfig
