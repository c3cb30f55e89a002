import { join } from 'node:path'
import type { DatabaseConfig } from 'resource-kit'

/** The database of each environment. If DATABASE_URL is set, it overrides the url. */
export default {
  development: { url: '%development_url%' },
  test: { url: '%test_url%' },
  production: { url: '%production_url%' },

  models: [join(import.meta.dirname, 'src/models/*.js')],
  migrations: [join(import.meta.dirname, 'migrations/*.js')],
} satisfies DatabaseConfig
