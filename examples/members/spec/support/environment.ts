// Specs use the "test" database of ormconfig.ts, or TEST_DATABASE_URL if it is set. They ignore DATABASE_URL, so that
// they never change its records. Import this file before any module that reads the environment.
process.env.GO_ENV = 'test'
process.env.DATABASE_URL = process.env.TEST_DATABASE_URL ?? ''
