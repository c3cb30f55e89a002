// Specs have a database of their own: that of "test" in ormconfig.ts, or TEST_DATABASE_URL where that is set, but never
// DATABASE_URL, whose records somebody needs. Import this before anything that reads the environment.
process.env.GO_ENV = 'test'
process.env.DATABASE_URL = process.env.TEST_DATABASE_URL ?? ''
