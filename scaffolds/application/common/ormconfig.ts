import { join } from 'node:path'
import type { DatabaseConfig } from 'resource-kit'

/** The database of each environment. Where DATABASE_URL is set, it takes the place of the url. */
export default {
  development: { url: '%development_url%' },
  test: { url: '%test_url%' },
  production: { url: '%production_url%' },

  models: [join(import.meta.dirname, 'src/models/*.js')],
  migrations: [join(import.meta.dirname, 'migrations/*.js')],
} satisfies DatabaseConfig
