import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import * as classValidator from 'class-validator'
import { getMetadataStorage, ValidateBy } from '../src/models/validation/class-validator.js'
import { root } from './support/kit.js'

/** Packages that are loaded when an application uses them, or never, because only a part of their dependent is used. */
const late = [
  '@opentelemetry/api',
  '@opentelemetry/core',
  '@koa/cors',
  'aws4fetch',
  'better-sqlite3',
  'co-body',
  'croner',
  'csv-parse',
  'koa-body',
  'koa-session',
  'libphonenumber-js',
  'mysql2',
  'nodemailer',
  'pg',
  'pug',
  'qs',
  'raw-body',
  'saxes',
  'send',
  'sharp',
  'validator',
  'yaml',
]

describe('Importing the framework', () => {
  it('does not load the packages that only some applications use', () => {
    const script = `
      import 'reflect-metadata'
      import { createRequire } from 'node:module'
      await import(${JSON.stringify(new URL('../src/index.js', import.meta.url).href)})
      console.log(JSON.stringify(Object.keys(createRequire(import.meta.url).cache)))`
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: root,
      encoding: 'utf8',
    })
    const files: string[] = JSON.parse(output)
    const packages = new Set(files.map((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]))
    expect(packages).to.include('class-validator')
    expect(late.filter((name) => packages.has(name))).to.deep.equal([])
  })

  it('does not load the replicas of databases, even if requests have transactions', () => {
    const script = `
      import 'reflect-metadata'
      import { register } from 'node:module'
      register('data:text/javascript,' + encodeURIComponent(\`
        import { writeSync } from 'node:fs'
        export function load(url, context, next) {
          writeSync(1, url + ' ')
          return next(url, context)
        }\`))
      const { App, Database, transaction } = await import(${JSON.stringify(new URL('../src/index.js', import.meta.url).href)})
      const database = new Database({ staging: { url: 'sqlite::memory:' } }, 'staging')
      const app = new App({ api: true, env: 'staging' })
      app.use(transaction(database)).get('/', async (ctx) => {
        ctx.body = await ctx.tx.query('SELECT 1 AS one')
      })
      const running = await app.listen(0, '127.0.0.1')
      const response = await fetch(running)
      console.log('answered ' + (await response.text()))
      process.exit()`
    const env = {
      ...process.env,
      DATABASE_URL: '',
      DATABASE_REPLICA_URLS: '',
      SESSION_SECRET: 's'.repeat(40),
    }
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: root,
      encoding: 'utf8',
      env,
    })
    expect(output).to.include('answered [{"one":1}]').and.include('database/transactions/lazy-transaction')
    expect(output)
      .to.not.include('database/replicas/')
      .and.not.include('src/teams/')
      .and.not.include('src/history/')
  })

  it('loads the parts of class-validator that an application gets from its main module', () => {
    expect(classValidator.getMetadataStorage).to.equal(getMetadataStorage)
    expect(classValidator.ValidateBy).to.equal(ValidateBy)
  })
})
