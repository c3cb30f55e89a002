import type { DatabaseConfig } from './src/data/database.js'

/** The database of the framework's own specs. `DATABASE_URL` takes its place. */
export default {
  development: { url: 'sqlite:db/development.sqlite' },
  test: { url: 'sqlite::memory:' },
  production: { url: 'sqlite:db/production.sqlite' },
} satisfies DatabaseConfig
