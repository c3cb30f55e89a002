// Writes examples/blog anew: what `kit new blog` and two runs of `kit generate` write, and nothing else. Build first.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const kit = join(root, 'dist/src/cli/main.js')
const example = join(root, 'examples/blog')
const folder = mkdtempSync(join(tmpdir(), 'kit-example-'))
const blog = join(folder, 'blog')

run(folder, 'new', 'blog', '--skip-install', '--kit', '^0.1.0')
run(
  blog,
  'generate',
  'resource',
  'post',
  'title',
  'description:nulls.Text',
  '--filter=title,created_at',
  '--sort=title,created_at',
  '--search=title,description',
)
stamp('create_posts', '1795132800000')
run(blog, 'generate', 'resource', 'comment', 'body:text', '--parent', 'post')
stamp('create_comments', '1795132801000')
rmSync(example, { recursive: true, force: true })
cpSync(blog, example, { recursive: true })
rmSync(folder, { recursive: true })

function run(cwd, ...args) {
  execFileSync(process.execPath, [kit, ...args], { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** A migration is named for the moment in which it is made; in the example, always for the same one. */
function stamp(name, time) {
  const migrations = join(blog, 'migrations')
  const file = readdirSync(migrations).find((one) => one.endsWith(`_${name}.ts`))
  const [made] = file.split('_')
  const text = readFileSync(join(migrations, file), 'utf8')
  rmSync(join(migrations, file))
  writeFileSync(join(migrations, `${time}_${name}.ts`), text.replaceAll(made, time))
}
