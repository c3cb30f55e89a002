import { expect } from 'chai'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { build, compilerOf, isStale } from '../../../src/cli/support/compilation.js'
import { failure } from '../../support/failure.js'
import { root } from '../../support/kit.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

describe('build(folder)', function () {
  let folder: string
  let built: string

  // Each spec has a copy of a folder that was built once.
  before(async () => {
    folder = temporaryFolder()
    built = folder
    for (const part of ['src', 'spec']) mkdirSync(join(folder, part))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    write('package.json', '{ "type": "module" }')
    settings({})
    write('src/one.ts', 'export const one = 1\n')
    write('spec/one.spec.ts', "import { one } from '../src/one.js'\nexport const two: number = one\n")
    await build(folder, 'everything')
  })

  beforeEach(() => {
    folder = temporaryFolder()
    cpSync(built, folder, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  after(() => rmSync(built, { recursive: true }))

  /** Writes a file with a time one second ago, so that a build is later. */
  function write(path: string, content: string): void {
    writeFileSync(join(folder, path), content)
    const then = new Date(Date.now() - 1000)
    utimesSync(join(folder, path), then, then)
  }

  function settings(more: object): void {
    const compilerOptions = { outDir: 'dist', types: [], lib: ['es2023'], skipLibCheck: true }
    write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['src', 'spec'], ...more }))
  }

  const compiled = (): string[] => readdirSync(join(folder, 'dist/src')).toSorted()

  it('creates dist/, and no other file', () => {
    expect(compiled()).to.deep.equal(['one.js'])
    expect(readdirSync(folder).filter((name) => name.startsWith('.dist-'))).to.deep.equal([])
    expect(isStale(folder)).to.equal(false)
  })

  it('is due if a source is new, changed or deleted', async () => {
    write('src/two.ts', 'export const two = 2\n')
    expect(isStale(folder)).to.equal(true)
    await build(folder)
    expect(isStale(folder)).to.equal(false)

    writeFileSync(join(folder, 'src/two.ts'), 'export const two = 3\n')
    expect(isStale(folder)).to.equal(true)
    await build(folder)

    rmSync(join(folder, 'src/two.ts'))
    expect(isStale(folder)).to.equal(true)
    await build(folder)
    expect(compiled()).to.deep.equal(['one.js'])
  })

  it('is due if a source has changed during the build', async () => {
    const building = build(folder)
    writeFileSync(join(folder, 'src/one.ts'), 'export const one = 2\n')
    await building
    expect(isStale(folder)).to.equal(true)
  })

  describe('without specs', () => {
    it('compiles no specs, and keeps the compiled ones', async () => {
      write('spec/one.spec.ts', "export const two: number = 'two'\n")
      write('spec/two.spec.ts', 'export const three = 3\n')
      await build(folder)
      expect(compiled()).to.deep.equal(['one.js'])
      expect(readdirSync(join(folder, 'dist/spec'))).to.deep.equal(['one.spec.js'])
      expect(readdirSync(join(folder, 'dist')).toSorted()).to.deep.equal(['.built', 'spec', 'src'])
    })

    it('makes a build with specs due, whatever they import', async () => {
      expect(isStale(folder, 'everything')).to.equal(false)
      write('src/one.ts', "export const one = 'one'\n")
      await build(folder)
      expect(isStale(folder)).to.equal(false)
      expect(isStale(folder, 'everything')).to.equal(true)
      expect(String(await failure(build(folder, 'everything')))).to.include(
        'spec/one.spec.ts(2,14): error TS2322',
      )
    })

    it('is not due if a spec has changed', () => {
      writeFileSync(join(folder, 'spec/one.spec.ts'), 'export const three = 3\n')
      expect(isStale(folder)).to.equal(false)
      expect(isStale(folder, 'everything')).to.equal(true)
    })

    it('uses the other options of tsconfig.json', async () => {
      write('src/two.ts', 'export const two: string = 2\n')
      settings({ exclude: ['src/two.ts'] })
      await build(folder)
      expect(compiled()).to.deep.equal(['one.js'])
    })
  })

  it('keeps the previous output if the code does not compile', async () => {
    write('src/one.ts', 'export const one: string = 1\n')
    expect(String(await failure(build(folder)))).to.include('src/one.ts(1,14): error TS2322')
    expect(compiled()).to.deep.equal(['one.js'])
    expect(readdirSync(folder).filter((name) => name.startsWith('.dist-'))).to.deep.equal([])
  })

  it('can run several times at once', async () => {
    await Promise.all([build(folder), build(folder), build(folder), build(folder)])
    expect(compiled()).to.deep.equal(['one.js'])
    expect(readdirSync(folder).filter((name) => name.startsWith('.dist-'))).to.deep.equal([])
  })

  it('compiles again if `kit dev` has written the types of the routes while the code was checked against old ones', async () => {
    const types = join(folder, '.kit/routes.d.ts')
    rmSync(join(folder, 'node_modules'))
    for (const path of ['.kit', 'node_modules/typescript/bin'])
      mkdirSync(join(folder, path), { recursive: true })
    write('node_modules/typescript/package.json', '{ "name": "typescript", "type": "commonjs" }')
    write('.kit/routes.d.ts', 'old')
    // A compiler that finds a wrong name of a route, until the types are new.
    write(
      'node_modules/typescript/bin/tsc',
      `const { readFileSync, writeFileSync } = require('node:fs')
      const types = ${JSON.stringify(types)}
      if (process.argv.includes('--showConfig')) console.log('{}')
      else if (readFileSync(types, 'utf8') === 'old') {
        writeFileSync(types, 'new')
        console.log('src/one.ts(1,1): error')
        process.exitCode = 1
      }`,
    )
    await build(folder, 'everything')
    expect(existsSync(join(folder, 'dist'))).to.equal(true)
  })

  it('deletes the files of a build that was killed', async () => {
    const left = join(folder, '.dist-killed')
    mkdirSync(left)
    const yesterday = new Date(Date.now() - 24 * 60 * 60 * 1000)
    utimesSync(left, yesterday, yesterday)
    await build(folder)
    expect(existsSync(left)).to.equal(false)
  })
})

describe('compilerOf(folder)', () => {
  let folder: string

  beforeEach(() => (folder = temporaryFolder()))
  afterEach(() => rmSync(folder, { recursive: true }))

  function install(name: string, file: string): string {
    const path = join(folder, 'node_modules', name)
    mkdirSync(join(path, file, '..'), { recursive: true })
    writeFileSync(join(path, 'package.json'), '{}')
    writeFileSync(join(path, file), '')
    return join(path, file)
  }

  it('is the script of a TypeScript that has no program for the platform', () => {
    const script = install('typescript', 'bin/tsc')
    expect(compilerOf(folder)).to.deep.equal([process.execPath, script])
  })

  it('is the program for the platform', () => {
    install('typescript', 'bin/tsc')
    const program = install(`@typescript/typescript-${process.platform}-${process.arch}`, 'lib/tsc')
    expect(compilerOf(folder)).to.deep.equal([program])
  })

  it('throws an error if no compiler is installed', () => {
    expect(() => compilerOf(folder)).to.throw('no TypeScript compiler installed. Run `npm install`.')
  })
})
