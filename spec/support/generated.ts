import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const blog = new URL('../../../examples/blog/', import.meta.url).pathname

/** What two runs of the generator have written into examples/blog, and what it had before. */
export const generated = /posts?\b|comments?\b/

/** A folder with an application as `kit new` makes it, which is deleted afterwards. */
export class Application {
  readonly folder = mkdtempSync(join(tmpdir(), 'kit-generate-'))

  /** examples/blog without its resources. */
  static web(): Application {
    const application = new Application()
    for (const [path, content] of files(blog)) {
      if (generated.test(path) || path === 'src/seeds.ts') continue
      application.write(path, path === 'src/app.ts' ? withoutResources(content) : content)
    }
    application.write('locales/.gitkeep', '')
    return application
  }

  /** An API application. */
  static api(): Application {
    const application = new Application()
    for (const path of [
      'package.json',
      'tsconfig.json',
      'ormconfig.ts',
      'src/database.ts',
      'spec/support/app.ts',
    ]) {
      if (existsSync(join(blog, path))) cpSync(join(blog, path), application.path(path), { recursive: true })
    }
    application.write(
      'src/app.ts',
      [
        "import { App, parameterLogger, transaction } from 'resource-kit'",
        "import { database } from './database.js'",
        '',
        'export const app = new App({ api: true })',
        '',
        'app.use(parameterLogger())',
        'app.use(transaction(database))',
        '',
      ].join('\n'),
    )
    return application
  }

  path(path: string): string {
    return join(this.folder, path)
  }

  read(path: string): string {
    return readFileSync(this.path(path), 'utf8')
  }

  write(path: string, content: string): void {
    mkdirSync(dirname(this.path(path)), { recursive: true })
    writeFileSync(this.path(path), content)
  }

  /** Every file and folder with its content. */
  tree(): Record<string, string> {
    return Object.fromEntries(entries(this.folder))
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** The files of examples/blog with their content. */
export function blogFiles(): Record<string, string> {
  return Object.fromEntries(files(blog))
}

function withoutResources(app: string): string {
  return app
    .split('\n')
    .filter((line) => !/(Posts|Comments)Resource/.test(line))
    .join('\n')
}

function files(folder: string): [path: string, content: string][] {
  return entries(folder).filter(([path]) => !path.endsWith('/'))
}

function entries(folder: string): [path: string, content: string][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const name = path.slice(folder.length).replace(/^\//, '')
      return entry.isDirectory() ? [`${name}/`, ''] : [name, readFileSync(path, 'utf8')]
    })
    .filter(([path = '']) => !/^(dist|node_modules|db)\//.test(path))
    .toSorted() as [string, string][]
}
