// Writes the applications in examples/ again: the output of `kit new` and `kit generate`, which depends on this checkout. Build
// first.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const kit = join(root, 'dist/src/cli/main.js')

const list = ['--filter=title,created_at', '--sort=title,created_at', '--search=title,description']

/** The files of examples/members that are kept. */
const written = ['src/jobs/delete_old_posts.ts', 'spec/jobs/delete_old_posts.spec.ts']

example('blog', [
  ['resource', 'post', 'title', 'description:nulls.text', ...list, '--spec=full'],
  ['resource', 'comment', 'body:text', '--parent=post', '--spec=full'],
])
example('members', [
  ['auth'],
  ['resource', 'post', 'title', 'body:nulls.text', '--owner', 'user', '--locking'],
  ['job', 'delete_old_posts', 'days:int', '--schedule', '0 3 * * *', '--time-zone', 'Europe/Berlin'],
])

/** Each step generates one migration. */
function example(name, steps) {
  const folder = mkdtempSync(join(tmpdir(), 'kit-example-'))
  const application = join(folder, name)
  run(folder, 'new', name, '--skip-install', '--skip-git', '--kit', '^0.1.0')
  for (const [index, words] of steps.entries()) {
    run(application, 'generate', ...words)
    stamp(application, String(1795132800000 + index * 1000))
  }
  if (name === 'blog') injectNotifier(application)
  // The work of the job is written by hand.
  else for (const path of written) cpSync(join(root, 'examples', name, path), join(application, path))
  useCheckout(application)
  rmSync(join(root, 'examples', name), { recursive: true, force: true })
  cpSync(application, join(root, 'examples', name), { recursive: true })
  rmSync(folder, { recursive: true })
}

function run(cwd, ...args) {
  execFileSync(process.execPath, [kit, ...args], { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Lets npm install a packed copy of this checkout. A linked folder would have a second copy of TypeORM. */
function useCheckout(application) {
  edit(application, 'package.json', '"resource-kit": "^0.1.0"', '"resource-kit": "file:../.."')
  edit(
    application,
    'README.md',
    '```sh\nnpm install',
    '```sh\n(cd ../.. && npm ci && npm run build) # this example uses the framework in ../..\nnpm install',
  )
  writeFileSync(join(application, '.npmrc'), 'install-links=true\npackage-lock=false\n')
}

/** Lets the comments of the blog use a service, as docs/getting-started-services.md teaches it. The files of the service are kept. */
function injectNotifier(application) {
  for (const path of ['src/services/notifier.ts', 'spec/services/notifier.spec.ts'])
    cpSync(join(root, 'examples/blog', path), join(application, path))
  const resource = 'src/actions/comments.ts'
  const above = (line, ...added) => edit(application, resource, line, [...added, line].join('\n'))
  above("import { PostsResource } from './posts.js'", "import { Notifier } from '../services/notifier.js'")
  above(
    '  /** GET /posts/{post_id}/comments: one page',
    '  constructor(private readonly notifier: Notifier) {',
    '    super()',
    '  }',
    '',
  )
  above(
    '\n    return ctx.respond(201, {',
    '    ctx.afterCommit(() => this.notifier.send(`Comment on "${post.title}": ${comment.body}`))',
  )
}

function edit(application, path, before, after) {
  const file = join(application, path)
  const text = readFileSync(file, 'utf8')
  if (!text.includes(before)) throw new Error(`${path} does not contain ${before}.`)
  writeFileSync(file, text.replace(before, after))
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
