import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import Sqlite from 'better-sqlite3'
import type { Browser } from 'playwright-core'
import { startBrowser } from '../browser.js'
import { environment, kit, kitFile, newApplication, root } from '../kit.js'
import { freePort } from '../servers/free-port.js'
import { drawPage, type Drawing } from './page-drawing.js'
import { openForPicture, showTerminal, takePicture } from './pictures.js'
import { terminal, type Step } from './terminal.js'

const folder = join(root, 'docs/images')
const documentedUrl = 'http://127.0.0.1:3000'
const GENERATE = 'generate resource post title description:nulls.text --search title,description --spec full'

/** Records the commands of README.md and docs/command-line.md in a new application, as SVG. */
export async function recordTerminals(): Promise<void> {
  const application = await newApplication()
  const browser = await startBrowser()
  try {
    await recordResource(application.folder, browser)
    await recordDevelopment(application.folder, browser)
  } finally {
    await browser.close()
    application.remove()
  }
}

/** Generates a resource, creates a post with curl, opens the page with it, and destroys the resource. */
async function recordResource(application: string, browser: Browser): Promise<void> {
  const steps: Step[] = []
  const run = async (command: string): Promise<void> => {
    const { output, errors } = await kit(application, command.split(' '))
    steps.push({
      command: `npx kit ${command}`,
      output: shortened((output + errors).split('\n'), steps.length > 0),
    })
  }
  await run(GENERATE)
  await run('db migrate')
  const server = await DevelopmentServer.start(application)
  steps.push({ command: 'npx kit dev &', output: server.lines() })
  const page = await openForPicture(browser, server.url, 760)
  const response = await page.request.post('/posts', json({ title: 'Hello' }))
  steps.push({
    command: `curl -H 'Content-Type: application/json' -d '{ "title": "Hello" }' ${documentedUrl}/posts`,
    output: [await response.text()],
    showsPage: true,
  })
  await page.goto('/posts')
  const drawings = {} as Record<'light' | 'dark', Drawing>
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    drawings[colorScheme] = await drawPage(page)
  }
  await page.context().close()
  await takePostPictures(application, server.url, browser)
  await server.stop()
  await run('db rollback')
  await run('destroy resource post -y')
  for (const scheme of ['light', 'dark'] as const)
    writeFileSync(join(folder, `resource-${scheme}.svg`), terminal(steps, scheme, drawings[scheme]))
}

/** The list that the recorded command has written, as a page and as the JSON that curl prints. */
async function takePostPictures(application: string, url: string, browser: Browser): Promise<void> {
  const database = new Sqlite(join(application, 'db/development.sqlite'))
  const list = await openForPicture(browser, url, 760)
  const posts = {
    'Release notes': 'Version 2 is out.',
    Meetup: 'Slides are online.',
    Hello: 'The first post.',
  }
  database.exec('DELETE FROM posts')
  for (const [title, description] of Object.entries(posts))
    await list.request.post('/posts', json({ title, description }))
  const dates = database.prepare('UPDATE posts SET created_at = $1, updated_at = $1 WHERE title = $2')
  for (const [index, title] of Object.keys(posts).entries())
    dates.run({ 1: `2026-01-${10 + 7 * index} 09:${12 + 9 * index}:00.000`, 2: title })
  database.close()
  await list.goto('/posts')
  await takePicture('posts', list)
  const response = await list.request.get('/posts', { headers: { Accept: 'application/json' } })
  await showTerminal(list, [
    "$ curl -s -H 'Accept: application/json' \\",
    `    ${documentedUrl}/posts | jq`,
    JSON.stringify(await response.json(), null, 2),
  ])
  await list.setViewportSize({ width: 640, height: 400 })
  await takePicture('posts-json', list)
  await list.context().close()
}

/** Starts `kit dev`, makes a mistake, corrects it, and opens the page of an error. */
async function recordDevelopment(application: string, browser: Browser): Promise<void> {
  await kit(application, GENERATE.split(' '))
  await kit(application, ['db', 'migrate'])
  const file = join(application, 'src/actions/posts.ts')
  const code = readFileSync(file, 'utf8')
  const line = '    const post = await this.findPost(ctx)\n'
  const server = await DevelopmentServer.start(application)
  const steps: Step[] = [{ command: 'npx kit dev', output: server.lines() }]
  const change = async (comment: string, changed: string): Promise<void> => {
    server.clear()
    writeFileSync(file, code.replace(line, line + changed))
    await server.nextState()
    steps.push({ comment, output: server.lines() })
  }
  await change('You save src/actions/posts.ts with a misspelled attribute.', '    console.log(post.titel)\n')
  await change('You correct it.', '')
  for (const scheme of ['light', 'dark'] as const)
    writeFileSync(join(folder, `dev-${scheme}.svg`), terminal(steps, scheme))

  await change(
    '',
    "    const tags: string[] = JSON.parse(post.description ?? '')\n    ctx.state['tags'] = tags\n",
  )
  const page = await openForPicture(browser, server.url)
  const response = await page.request.post(
    '/posts',
    json({ title: 'Hello, world', description: 'news, releases' }),
  )
  await page.goto(response.headers()['location'] ?? '')
  // An application has the framework in node_modules.
  await page.evaluate(`for (const frame of document.querySelectorAll('.stack code'))
    frame.textContent = frame.textContent.replace('file://${root}', 'file:///blog/node_modules/resource-kit/').replace('${application}', '/blog')`)
  await takePicture('error-page', page, { height: 1000 })
  await server.stop()
}

function json(data: object): { data: object; headers: Record<string, string> } {
  return { data, headers: { Accept: 'application/json' } }
}

/** A long list of files after the first one shows its first lines and its last one. */
function shortened(lines: string[], isKnown: boolean): string[] {
  return isKnown && lines.length > 5 ? [...lines.slice(0, 2), '   …', ...lines.slice(-1)] : lines
}

/** `kit dev` in its own process, with the lines that it has printed. */
class DevelopmentServer {
  private printed: string[] = []
  private stateChanged = (): void => {}

  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(application: string): Promise<DevelopmentServer> {
    const port = String(await freePort())
    const child = spawn(process.execPath, [kitFile, 'dev'], {
      cwd: application,
      env: environment({ PORT: port, LOG_LEVEL: 'silent' }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const server = new DevelopmentServer(`http://127.0.0.1:${port}`, child)
    for (const stream of [child.stdout, child.stderr]) createInterface(stream).on('line', server.print)
    await server.nextState()
    return server
  }

  /** Waits until the application runs, or until an error prevents it. */
  nextState(): Promise<void> {
    return new Promise((resolve) => {
      this.stateChanged = resolve
    })
  }

  clear(): void {
    this.printed = []
  }

  /** The lines as the handbook shows them, whose duration depends on the machine. */
  lines(): string[] {
    return this.printed.map((line) =>
      line.replaceAll(this.url, documentedUrl).replace(/after \d+ ms/, 'after … ms'),
    )
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit')
    this.child.kill()
    await ended
  }

  private readonly print = (line: string): void => {
    this.printed.push(line)
    if (/^kit dev: (?!http)/.test(line)) this.stateChanged()
  }
}
