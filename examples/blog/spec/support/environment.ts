import { existsSync } from 'node:fs'

// Specs use the "test" database of ormconfig.ts, or TEST_DATABASE_URL if it is set, also in .env. They ignore
// DATABASE_URL, so that they never change its records. Import this file before any module that reads the environment.
process.env.GO_ENV = 'test'
if (existsSync('.env')) process.loadEnvFile('.env')
process.env.DATABASE_URL = process.env.TEST_DATABASE_URL ?? ''
