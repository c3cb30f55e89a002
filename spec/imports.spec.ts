import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { root } from './support/kit.js'

/** The imports that a folder or file of src may have from the others: files, or whole folders. */
interface Rule {
  imports?: readonly string[]
  /** The files and folders of which it may import only types. */
  types?: readonly string[]
}

/** Every file may import these. */
const everywhere = ['errors', 'common/', 'naming/']

/** The import rules of docs/architecture.md. */
const rules: Record<string, Rule> = {
  errors: {},
  'command-errors': {},
  'common/': {},
  'naming/': {},
  'database/': { imports: ['models/attributes/', 'models/model-subscriber'] },
  'models/': {},
  'records/': { imports: ['database/', 'models/'] },
  'server/': { imports: ['command-errors'] },
  'translations/': {},
  'injection/': { types: ['context'] },
  'logging/': { types: ['background', 'context'] },
  'policies/': { imports: ['database/', 'models/', 'records/'], types: ['context'] },
  'resources/': {
    imports: ['injection/'],
    types: ['context', 'models/attributes/attribute-of', 'records/lists/declaration', 'policies/policy'],
  },
  'routing/': {
    imports: ['injection/', 'resources/'],
    types: ['context', 'models/model', 'records/lists/declaration', 'policies/policy'],
  },
  'http/': {
    imports: ['models/attributes/', 'logging/'],
    types: ['context', 'database/', 'models/', 'records/', 'routing/'],
  },
  'sessions/': {
    imports: ['database/', 'models/', 'records/', 'http/private-responses'],
    types: ['context'],
  },
  'views/': {
    imports: [
      'models/attributes/',
      'records/save',
      'http/binder',
      'http/body/rejected-files',
      'http/preconditions',
      'http/private-responses',
      'http/security/own-site',
      'translations/formatters',
    ],
    types: ['context', 'database/', 'models/', 'records/', 'http/', 'routing/', 'sessions/', 'translations/'],
  },
  'middleware/': {
    imports: [
      'database/',
      'models/',
      'records/',
      'http/',
      'logging/',
      'server/header-list',
      'sessions/',
      'translations/',
    ],
    types: ['context', 'resources/route-description', 'routing/declared-route'],
  },
  'testing/': {
    imports: ['database/', 'models/', 'records/', 'http/formats/', 'openapi/contract'],
    types: ['application/application', 'injection/'],
  },
  'generator/': {
    imports: ['command-errors', 'models/attributes/', 'records/lists/declaration', 'translations/'],
  },
  'cli/': {
    imports: [
      'command-errors',
      'database/',
      'files/',
      'models/',
      'records/',
      'generator/',
      'http/security/hosts',
      'index',
      'injection/middleware-class',
      'jobs/',
      'logging/',
      'openapi/',
      'server/',
      'translations/',
    ],
    types: ['application/application', 'extension', 'routing/'],
  },
}

/** Folders that use the public API and `extension.ts` alone, as packages of others do. */
const extensions = ['auth/', 'files/', 'jobs/', 'mail/', 'openapi/', 'telemetry/']

/** These assemble the folders. Nothing else imports them as values, except that commands import `index`. */
const assembling = ['application/', 'background', 'context', 'extension', 'index']
const aboveApplication = ['index', 'cli/', 'generator/', 'testing/', ...extensions]

describe('The imports of src', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.replace(/\.ts$/, ''))

  for (const [place, { imports = [], types = [] }] of Object.entries(rules)) {
    it(`of ${place} follow the rules of docs/architecture.md`, () => {
      const own = files.filter((file) => isIn(file, [place]))
      expect(own).to.not.deep.equal([])
      expect(
        own.flatMap((file) => violations(file, [...everywhere, place, ...imports], types)),
      ).to.deep.equal([])
    })
  }

  for (const place of extensions) {
    it(`of ${place} lead to index and extension only`, () => {
      const own = files.filter((file) => isIn(file, [place]))
      expect(own).to.not.deep.equal([])
      expect(own.flatMap((file) => violations(file, [place, 'extension', 'index'], []))).to.deep.equal([])
    })
  }

  it('of application/ and context lead to no command, generator, test kit or accounts', () => {
    const core = files.filter((file) => isIn(file, ['application/', 'context']))
    const upward = core.flatMap((file) =>
      importsOf(file).filter(({ target }) => isIn(target, aboveApplication)),
    )
    expect(upward).to.deep.equal([])
  })

  it('have no circle at run time, and at most one circle of folders in types: what a context has', () => {
    const values = new Map<string, string[]>()
    const all = new Map<string, string[]>()
    for (const file of files)
      for (const { target, isType, isDynamic } of importsOf(file)) {
        if (isDynamic) continue
        if (!isType) values.set(file, [...(values.get(file) ?? []), target])
        all.set(folderOf(file), [...(all.get(folderOf(file)) ?? []), folderOf(target)])
      }
    expect(circlesOf(values)).to.deep.equal([])
    expect(circlesOf(all)).to.deep.equal([
      ['background', 'context', 'injection', 'policies', 'resources', 'routing'],
    ])
  })

  it('have a rule for every folder and file', () => {
    const places = [...Object.keys(rules), ...extensions, ...assembling]
    expect(files.filter((file) => !isIn(file, places))).to.deep.equal([])
  })
})

/** The imports of a file that its folder may not have: `http/body/body imports views/forms`. */
function violations(file: string, imports: readonly string[], types: readonly string[]): string[] {
  return importsOf(file)
    .filter(({ target, isType }) => !isIn(target, isType ? [...imports, ...types] : imports))
    .map(({ target, isType }) => `${file} imports ${isType ? 'types of ' : ''}${target}`)
}

/** The groups of places that lead to each other. */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const reached = new Map([...imports.keys()].map((place) => [place, reachedFrom(place, imports)]))
  const circles = [...reached].map(([place, targets]) =>
    [...targets].filter((target) => reached.get(target)?.has(place)).toSorted(),
  )
  const different = new Map(
    circles.filter(({ length }) => length > 1).map((circle) => [circle.join(), circle]),
  )
  return [...different.values()]
}

function reachedFrom(place: string, imports: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>()
  const left = [place]
  for (let next = left.pop(); next !== undefined; next = left.pop())
    for (const target of imports.get(next) ?? [])
      if (!reached.has(target)) {
        reached.add(target)
        left.push(target)
      }
  return reached
}

/** `models` of `models/model`, and the file itself if it is in no folder. */
function folderOf(file: string): string {
  return file.split('/')[0] ?? file
}

/** The files of src that a file imports. */
function importsOf(file: string): { target: string; isType: boolean; isDynamic: boolean }[] {
  const source = readFileSync(join(root, 'src', `${file}.ts`), 'utf8')
  const statements = source.matchAll(
    /^(?:import|export)\s+(type\s)?(?:([^'";]*?)\s+from\s+)?'(\.[^']+)\.js'|\bimport\('(\.[^']+)\.js'\)/gm,
  )
  return [...statements].map(([, type, names = '', path, dynamicPath]) => ({
    target: join(dirname(file), path ?? dynamicPath ?? ''),
    isType: type !== undefined || /^\{(\s*type [^,]+,?)+\s*\}$/.test(names),
    isDynamic: dynamicPath !== undefined,
  }))
}

function isIn(file: string, places: readonly string[]): boolean {
  return places.some((place) => (place.endsWith('/') ? file.startsWith(place) : file === place))
}
