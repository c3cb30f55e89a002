// Writes the applications in examples/ again: the output of `kit new` and `kit generate`, and nothing else. Build first.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const kit = join(root, 'dist/src/cli/main.js')

const list = ['--filter=title,created_at', '--sort=title,created_at', '--search=title,description']

example('blog', [
  ['resource', 'post', 'title', 'description:nulls.Text', ...list],
  ['resource', 'comment', 'body:text', '--parent', 'post'],
])
example('members', [['auth'], ['resource', 'post', 'title', 'body:nulls.Text', '--owner', 'user']])

/** Each step generates one migration. */
function example(name, steps) {
  const folder = mkdtempSync(join(tmpdir(), 'kit-example-'))
  const application = join(folder, name)
  run(folder, 'new', name, '--skip-install', '--kit', '^0.1.0')
  for (const [index, words] of steps.entries()) {
    run(application, 'generate', ...words)
    stamp(application, String(1795132800000 + index * 1000))
  }
  rmSync(join(root, 'examples', name), { recursive: true, force: true })
  cpSync(application, join(root, 'examples', name), { recursive: true })
  rmSync(folder, { recursive: true })
}

function run(cwd, ...args) {
  execFileSync(process.execPath, [kit, ...args], { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** A migration is named for the time at which it is generated. In the examples this is always the same one. */
function stamp(application, time) {
  const migrations = join(application, 'migrations')
  const file = readdirSync(migrations).toSorted().at(-1)
  const [made] = file.split('_')
  const text = readFileSync(join(migrations, file), 'utf8')
  rmSync(join(migrations, file))
  writeFileSync(join(migrations, file.replace(made, time)), text.replaceAll(made, time))
}
