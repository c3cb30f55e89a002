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

  it('loads the parts of class-validator that an application gets from its main module', () => {
    expect(classValidator.getMetadataStorage).to.equal(getMetadataStorage)
    expect(classValidator.ValidateBy).to.equal(ValidateBy)
  })
})
