import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { root } from './support/kit.js'

/** The rooms of the house, the folders and single files of src. Each may import those above it in this list. */
const rooms = [
  'errors command-errors common naming models context database background records',
  'server translations injection logging policies resources routing http sessions',
  'many views middleware application index extension openapi jobs files mail auth teams history telemetry',
  'testing generator cli',
].flatMap((names) => names.split(' '))

/** The rooms that use the public API and `extension.ts` alone, as packages of others do. */
const extensions = ['auth', 'files', 'history', 'jobs', 'mail', 'openapi', 'teams', 'telemetry']

describe('The imports of src', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.replace(/\.ts$/, ''))
  const imports = files.flatMap(importsOf)

  it('lead down in the house, except that the type of a context has the route of its request', () => {
    expect(new Set(files.map(roomOf))).to.deep.equal(new Set(rooms))
    const up = imports.filter(({ file, target }) => level(target) > level(file))
    expect(up.filter(({ isType }) => !isType)).to.deep.equal([])
    const arrows = new Set(up.map(({ file, target }) => `${roomOf(file)} -> ${roomOf(target)}`))
    expect([...arrows].toSorted()).to.deep.equal(['context -> resources', 'context -> routing'])
  })

  it('of extensions lead to index and extension only, and no room of the core imports an extension', () => {
    const wrong = imports.filter(({ file, target }) => {
      const allowed = [roomOf(file), 'index', 'extension']
      return extensions.includes(roomOf(file)) && !allowed.includes(roomOf(target))
    })
    expect(wrong).to.deep.equal([])
  })

  it('have no circle at run time, and at most two circles of types, of at most five files', () => {
    const early = imports.filter(({ isDynamic }) => !isDynamic)
    expect(circlesOf(early.filter(({ isType }) => !isType))).to.deep.equal([])
    const circles = circlesOf(early)
    expect(circles, JSON.stringify(circles)).to.have.length.at.most(2)
    for (const circle of circles) expect(circle.length, circle.join(', ')).to.be.at.most(5)
  })
})

interface Import {
  file: string
  target: string
  /** Whether it imports types only. */
  isType: boolean
  /** Whether the file is loaded later, by `await import`. */
  isDynamic: boolean
}

function importsOf(file: string): Import[] {
  const source = readFileSync(join(root, 'src', `${file}.ts`), 'utf8')
  const statements = source.matchAll(
    /^(?:import|export)\s+(type\s)?(?:([^'";]*?)\s+from\s+)?'(\.[^']+)\.js'|\bimport\('(\.[^']+)\.js'\)/gm,
  )
  return [...statements].map(([, type, names = '', path, dynamicPath]) => ({
    file,
    target: join(dirname(file), path ?? dynamicPath ?? ''),
    isType: type !== undefined || /^\{(\s*type [^,]+,?)+\s*\}$/.test(names),
    isDynamic: dynamicPath !== undefined,
  }))
}

function roomOf(file: string): string {
  return file.split('/')[0] ?? file
}

function level(file: string): number {
  return rooms.indexOf(roomOf(file))
}

/** The groups of files that lead to each other. */
function circlesOf(imports: readonly Import[]): string[][] {
  const targets = new Map(imports.map(({ file }) => [file, [] as string[]]))
  for (const { file, target } of imports) targets.get(file)?.push(target)
  const reachedFrom = (start: string): Set<string> => {
    const reached = new Set<string>()
    for (const left = [start]; left.length > 0;) {
      for (const target of targets.get(left.pop() ?? '') ?? []) {
        if (!reached.has(target)) left.push(target)
        reached.add(target)
      }
    }
    return reached
  }
  const reached = new Map([...targets.keys()].map((file) => [file, reachedFrom(file)]))
  const circles = [...reached]
    .filter(([file, others]) => others.has(file))
    .map(([file, others]) =>
      [...others]
        .filter((other) => reached.get(other)?.has(file))
        .toSorted()
        .join(),
    )
  return [...new Set(circles)].map((circle) => circle.split(','))
}
