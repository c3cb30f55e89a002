import type { DatabaseConfig } from './src/database/database.js'

/** A database for each environment, as an application names them. `DATABASE_URL` takes the place of the url. */
export default {
  development: { url: 'sqlite:db/development.sqlite' },
  test: { url: 'sqlite::memory:' },
  production: { url: 'sqlite:db/production.sqlite' },
} satisfies DatabaseConfig
