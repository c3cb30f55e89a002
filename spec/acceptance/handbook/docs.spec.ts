import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect } from 'chai'
import pug from 'pug'
import { parse as parseYaml } from 'yaml'
import {
  codeBlocks,
  namedFile,
  referenceExamples,
  type CodeBlock,
} from '../../support/documentation/code-blocks.js'
import { compilerOf } from '../../../src/cli/support/compilation.js'
import { parseXml } from '../../../src/http/body/xml-reader.js'
import { unformatted } from '../../support/formatted.js'
import { kit, linkPackages, newApplication, root } from '../../support/kit.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

/** The instructions in docs/getting-started*.md have their own spec, which follows them step by step. */
const blocks = [
  ...codeBlocks().filter(({ page }) => !page.startsWith('docs/getting-started')),
  ...referenceExamples(),
]

/** The blocks in one of these languages, as rows of a table of specs. */
function blocksIn(...languages: string[]): Array<[string, CodeBlock]> {
  return blocks.flatMap((block): Array<[string, CodeBlock]> =>
    languages.includes(block.language) ? [[`${block.page}:${block.line}`, block]] : [],
  )
}

describe('The code in README.md, CONTRIBUTING.md, SECURITY.md, spec/README.md, bench/README.md and docs/', () => {
  it('is in a language that this spec checks', () => {
    const languages = new Set(blocks.map((block) => block.language))
    const checked = [
      '',
      'ts',
      // Code of a front end, which scripts/clients/check.js compiles, and of other frameworks.
      'typescript',
      'ruby',
      'js',
      'pug',
      'yaml',
      'json',
      'xml',
      'sh',
      'ini',
      'dockerfile',
      'nginx',
      'http',
      'mermaid',
    ]
    expect([...languages].filter((language) => !checked.includes(language))).to.deep.equal([])
  })

  describe('TypeScript and JavaScript', () => {
    let complaints: string[]
    const mistake = { page: 'mistake.md', line: 1, language: 'ts', code: "const number: number = 'text'" }
    const compiled = [...blocksIn('ts'), ...blocksIn('js'), ['mistake', mistake] as const].map(
      ([, block]) => block,
    )
    let pieces: Pieces

    before(() => {
      const folder = application()
      for (const [file, code] of Object.entries({ ...accounts, ...team })) write(folder, code, file)
      for (const block of compiled) {
        if (!isPiece(block)) write(folder, moduleOf(block), fileOf(block))
        // Other blocks import it.
        const file = namedFile(block)
        if (file && !existsSync(join(folder, file))) write(folder, block.code, file)
      }
      pieces = new Pieces(compiled.filter(isPiece))
      write(folder, pieces.code, pieces.file)
      // A block of CONTRIBUTING.md is a file of the framework.
      write(folder, "export type { Context, Middleware } from 'resource-kit'\n", 'src/context.ts')
      complaints = compile(folder)
      rmSync(folder, { recursive: true, force: true })
    })

    const complaintsAbout = (block: CodeBlock): string[] =>
      complaints.filter((line) =>
        isPiece(block) ? pieces.at(line) === block : line.startsWith(fileOf(block)),
      )

    for (const [place, block] of blocksIn('ts')) {
      it(`${place} compiles under strict`, () => {
        expect(complaintsAbout(block)).to.deep.equal([])
      })
    }

    for (const [place, block] of blocksIn('js')) {
      it(`${place} is JavaScript`, () => {
        expect(complaintsAbout(block)).to.deep.equal([])
      })
    }

    it('is compiled, so that a mistake is reported', () => {
      expect(complaintsAbout(mistake)).to.have.length(1)
    })

    it('compiles in an application without errors', () => {
      const known = new Set(compiled.flatMap(complaintsAbout))
      expect(complaints.filter((line) => !known.has(line))).to.deep.equal([])
    })
  })

  for (const [place, { code }] of blocksIn('pug')) {
    it(`${place} is a template`, () => {
      pug.compile(code, { basedir: join(root, 'assets/templates'), filename: 'page.pug' })
    })

    it(`${place} is formatted`, async () => {
      expect(await unformatted({ 'page.pug': code })).to.deep.equal([])
    })
  }

  for (const [place, { code }] of blocksIn('yaml')) {
    it(`${place} is YAML`, () => {
      parseYaml(code)
    })
  }

  for (const [place, { code }] of blocksIn('json')) {
    it(`${place} is JSON`, () => {
      JSON.parse(code)
    })
  }

  for (const [place, { code }] of blocksIn('xml')) {
    it(`${place} is well-formed XML`, async () => {
      await parseXml(code)
    })
  }

  describe('commands', function () {
    const scripts = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts)

    for (const [place, { code }] of blocksIn('sh')) {
      for (const args of kitCommandsOf(code)) {
        it(`${place} kit ${args.join(' ')} is a command with these options`, async () => {
          const run = await kit(root, [...args, '--help'])
          expect(run.errors).to.equal('')
          const unknown = args.filter((word) => word.startsWith('-') && !run.output.includes(nameOf(word)))
          expect(unknown).to.deep.equal([])
        })
      }

      for (const script of npmScriptsOf(code)) {
        it(`${place} npm run ${script} is a script`, () => {
          expect(scripts).to.include(script)
        })
      }
    }
  })
})

describe('README.md', () => {
  const shown = codeBlocks().filter(({ page }) => page === 'README.md')

  it('shows the handler as its command writes it', async () => {
    const commands = shown.flatMap(({ language, code }) => (language === 'sh' ? kitCommandsOf(code) : []))
    const generate = commands.filter(([word]) => word === 'generate')
    expect(new Set(generate.map((words) => words.join(' '))).size).to.equal(1)
    const { folder, remove } = await newApplication()
    try {
      await kit(folder, generate[0] ?? [])
      const generated = readFileSync(join(folder, 'src/actions/posts.ts'), 'utf8')
      const handlers = shown.filter(({ language }) => language === 'ts')
      expect(handlers).to.have.length(1)
      // The excerpt ends with the class.
      for (const { code } of handlers) expect(generated).to.include(code.replace(/\n}\n$/, '\n'))
    } finally {
      remove()
    }
  })

  it('has the commands and outputs of docs/getting-started.md, whose spec runs them', () => {
    const guide = readPage('docs/getting-started.md').split('\n')
    const commands = shown.filter(({ language }) => ['sh', ''].includes(language))
    const lines = commands.flatMap(({ code }) => code.trim().split('\n'))
    expect(lines).to.include('npx kit dev')
    expect(lines.filter((line) => !guide.includes(line))).to.deep.equal([])
  })
})

/** The interfaces whose properties docs/configuration.md lists. */
const configured = [
  'AppOptions',
  'Timeouts',
  'CorsOptions',
  'DatabaseSettings',
  'ForceSSLOptions',
  'ParameterFilterOptions',
  'CsrfOptions',
  'TransactionOptions',
  'BeginOptions',
  'RetryingOptions',
  'TranslationsOptions',
  'SecurityHeadersOptions',
  'DatabaseSessionsOptions',
  'RedisSessionsOptions',
  'RouteOptions',
  'PageOptions',
]

describe('docs/configuration.md', () => {
  const page = readPage('docs/configuration.md')
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(root, 'src', file), 'utf8'))

  for (const name of configured) {
    it(`lists every option of ${name}`, () => {
      const options = sources.flatMap((source) => optionsOf(source, name))
      expect(options).to.not.have.length(0)
      expect(options.filter((option) => !page.includes(`\`${option}\``))).to.deep.equal([])
    })
  }

  it('lists every environment variable', () => {
    const variables = sources.flatMap((source) =>
      [...source.matchAll(/process\.env(?:\.|\[')([A-Z_]+)|const { ([A-Z_]+) } = process\.env/g)].map(
        ([, read, destructured]) => read ?? destructured ?? '',
      ),
    )
    // The example of redisSessions() reads REDIS_URL. KIT_DEV is how `kit dev` recognizes its own processes.
    const unlisted = ['REDIS_URL', 'KIT_DEV', 'KIT_DEV_PORT']
    expect(variables).to.include('DATABASE_URL')
    expect(
      variables.filter((name) => !unlisted.includes(name) && !page.includes(`\`${name}\``)),
    ).to.deep.equal([])
  })
})

/** The properties of an interface. */
function optionsOf(source: string, name: string): string[] {
  const [, body = ''] = new RegExp(`^export interface ${name}\\b[^{]*{\n(.*?)^}`, 'ms').exec(source) ?? []
  return [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, option = '']) => option)
}

function readPage(page: string): string {
  return readFileSync(join(root, page), 'utf8')
}

/** An application with posts and comments, in which the examples are compiled. */
function application(): string {
  const folder = temporaryFolder()
  const blog = join(root, 'examples/blog')
  cpSync(blog, folder, {
    recursive: true,
    filter: (path) => !/^(dist|node_modules|db|\.kit)$/.test(basename(path)),
  })
  const settings = JSON.parse(
    readFileSync(join(folder, 'tsconfig.json'), 'utf8').replaceAll(/^ *\/\/.*\n/gm, ''),
  )
  settings.compilerOptions.allowJs = true
  settings.include = ['src', 'migrations', 'spec', 'ormconfig.ts', 'examples']
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  linkPackages(folder)
  return folder
}

function write(folder: string, content: string, file: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(join(folder, file), content)
}

/** Where a block is compiled: next to the file that it names, or in a folder of examples. */
function fileOf(block: CodeBlock): string {
  const folder = dirname(namedFile(block) ?? 'examples/block.ts')
  return join(folder, `${basename(block.page, '.md')}-${block.line}.${block.language}`)
}

/** The messages of tsc, one a line. */
function compile(folder: string): string[] {
  const [tsc, ...args] = compilerOf(root)
  const options = ['--noEmit', '--pretty', 'false', '--singleThreaded']
  const { stdout } = spawnSync(tsc, [...args, ...options], { cwd: folder, encoding: 'utf8' })
  return stdout.split('\n').filter((line) => line.includes('error TS'))
}

/** A block without imports is a part of a file, unless its first line names the file. */
function isPiece(block: CodeBlock): boolean {
  return (
    block.language === 'ts' &&
    namedFile(block) === undefined &&
    !/^(import|declare module) /m.test(block.code)
  )
}

/** The code of a file of the application that contains a block. */
function moduleOf(block: CodeBlock): string {
  if (block.language === 'js' || /^import /m.test(block.code)) return block.code
  if (/^declare module /m.test(block.code)) return `import 'resource-kit'\n${block.code}`
  return surroundings + functionOf(block)
}

/** A part of a file as a function, which may use the names in `surroundings`, and declare them again. */
function functionOf({ code }: CodeBlock, name = 'example'): string {
  const piece = code.replaceAll(/^export default /gm, 'const exported = ').replaceAll(/^export /gm, '')
  return `\nexport async function ${name}(ctx: Context): Promise<unknown> {\n${piece}\nreturn ctx\n}\n`
}

/** All parts of files as one file, because the compiler takes longest for their surroundings. */
class Pieces {
  readonly file = 'examples/pieces.ts'
  readonly code: string
  /** The last line of each block. */
  private readonly ends: [line: number, block: CodeBlock][] = []

  constructor(blocks: readonly CodeBlock[]) {
    let code = surroundings
    for (const [index, block] of blocks.entries()) {
      code += functionOf(block, `example${index}`)
      this.ends.push([code.split('\n').length, block])
    }
    this.code = code
  }

  /** The block that a message of the compiler is about. */
  at(message: string): CodeBlock | undefined {
    const [, line] = message.startsWith(this.file) ? (/\((\d+),/.exec(message) ?? []) : []
    if (line === undefined || Number(line) <= surroundings.split('\n').length) return undefined
    return this.ends.find(([end]) => Number(line) <= end)?.[1]
  }
}

const surroundings = `
import { join } from 'node:path'
import { injectable } from 'tsyringe'
import * as classValidator from 'class-validator'
import {
  Column, Entity, In, JoinColumn, JoinTable, ManyToMany, ManyToOne, MoreThan, OneToMany, Table, type EntityManager, type MigrationInterface, type QueryRunner,
  type Relation,
} from 'typeorm'
import {
  App, as, BadRequest, BaseResource, column, csrf, Database, databaseSessions, idempotencyKeysTable, Describe, emptyTrash, filter, forceSSL, html, HttpError, idempotency, Model, Nested, nothing, Parent,
  parameterLogger, Policy, prefixIndex, Present, primaryKey, Queryable, RelationIds, sortByLabel, timestamps,
  redisSessions, Resource, Route, securityHeaders, sessionsTable, transaction, transactionOptions, translations, uniqueOutsideTrash, Use, Within,
  type Context, type DatabaseConfig, type Handler, type KeepOptions, type ListQuery, type Middleware, type MiddlewareClass, type Next, type SessionData,
  type SessionStore, ValidationErrors,
} from 'resource-kit'
import {
  brokenRules, captureLog, Client, describeIsolation, describePolicy, describeResource, expectQueries, Factory, Isolation, sampleFile, signInFor, testApplication,
} from 'resource-kit/testing'
import { expect } from 'chai'
import {
  authenticate, databaseLimits, normalizeEmail, rateLimit, readToken, requireUser, signedToken, signIn, signOut, takeReturnTo, userSessions, verifyPassword,
} from 'resource-kit/auth'
import { absoluteUrl, mailer, mailInbox, sendMail } from 'resource-kit/mail'
import { openapi } from 'resource-kit/openapi'
import type { StoredFiles } from 'resource-kit/files'
import type { JobQueue } from 'resource-kit/jobs'
import type { JobContext } from 'resource-kit/jobs'
import { createClient } from 'redis'
import { PostsResource } from '../src/actions/posts.js'
import { CommentsResource } from '../src/actions/comments.js'
import { database } from '../src/database.js'
import { Post } from '../src/models/post.js'
import { Comment } from '../src/models/comment.js'

declare const app: App
declare const post: Post
declare const comment: Comment
declare const path: string, message: string
declare const query: ListQuery
declare const errors: ValidationErrors
declare const home: Handler, login: Handler, publish: Handler, dashboard: Handler
declare const payment: Handler, newMessage: Handler, sendMessage: Handler
declare const requireAdmin: Middleware, jobs: JobQueue
declare class AuditLog {
  add(method: string, path: string): void
}
declare const config: DatabaseConfig
declare const runner: QueryRunner
declare const redis: ReturnType<typeof createClient>
declare const client: Client, factory: Factory, isolation: Isolation
declare class User extends Model {
  email: string
  password_hash: string
  suspended_at: Date | null
}
declare const user: User
declare class SendDigest {
  perform(values: { user_id: string }, job: JobContext): Promise<void>
}
declare class Branch extends Model {
  name: string
  slug: string
}
declare class Author extends Model {
  name: string
}
declare class Note extends Model {
  user_id: string
}
declare class Label extends Model {
  name: string
}
declare class Contract extends Model {
  number: string
}
declare class Item extends Model {
  name: string
}
declare class OrderLine extends Model {
  item_id: string
  quantity: number
  order: Relation<Model>
}
declare class Rental extends Model {
  number: string
}
// oxlint-disable-next-line no-explicit-any
declare const RentalPolicy: any
declare const rental: Rental, job: JobContext
declare function isolate(): void
declare const frontEnd: Handler, files: StoredFiles
declare const PlanesResource: typeof PostsResource, ApiPostsResource: typeof PostsResource
declare class Account extends Model {
  owner: string
  balance: number
}
declare class Member extends Model {
  email: string
  password_hash: string
}
`

/** The parts of the files of `kit generate team` that examples import. */
const team = {
  'src/models/branch.ts': `
import { Model } from 'resource-kit'

export class Branch extends Model {
  name!: string
  slug!: string
}
`,
  'src/models/membership.ts': `
import { Model } from 'resource-kit'

export class Membership extends Model {
  user_id!: string
  role!: string
}
`,
  'src/models/invitation.ts': `
import { Model } from 'resource-kit'

export class Invitation extends Model {
  email!: string
  role!: string
  token_hash!: string
  expires_at!: Date
  inviter_id!: string
}
`,
  'src/models/invoice.ts': `
import { Model } from 'resource-kit'

export class Invoice extends Model {
  branch_id!: string
}
`,
  'spec/support/branches.ts': `
import type { Role } from '../../src/branches.js'
import { Branch } from '../../src/models/branch.js'
import { User } from '../../src/models/user.js'

export async function makeBranch() {
  return new Branch()
}
export async function makeMember(_branch: Branch, _role: Role) {
  return new User()
}
`,
}

/** The parts of the files of `kit generate auth` that examples import. */
const accounts = {
  'src/authentication.ts': `
import type { Context } from 'resource-kit'
import { User } from './models/user.js'

export function userOf(_ctx: Context): User {
  return new User()
}
`,
  'spec/support/users.ts': `
import type { Client } from 'resource-kit/testing'
import { User } from '../../src/models/user.js'

export async function makeUser(values: Partial<User> = {}): Promise<User> {
  return Object.assign(new User(), values)
}

export async function signIn(client: Client, user: User): Promise<unknown> {
  return client.post('/session', { form: { email: user.email } })
}
`,
  // With the columns that pages add to it.
  'src/models/user.ts': `
import { Model } from 'resource-kit'

export class User extends Model {
  name!: string
  email!: string
  admin!: boolean
}
`,
}

/** The lines that call the `kit` command, as arrays of words. */
function kitCommandsOf(code: string): string[][] {
  return code.split('\n').flatMap((line) => {
    const [, words] = /^(?:\$ )?(?:npx )?kit ([^#&|]+)/.exec(line) ?? []
    return words ? [words.trim().split(/\s+/)] : []
  })
}

function npmScriptsOf(code: string): string[] {
  return [...code.matchAll(/npm run ([\w:-]+)/g)].map(([, script = '']) => script)
}

/** `--steps` of `--steps=2`. */
function nameOf(option: string): string {
  return option.split('=')[0] ?? option
}
