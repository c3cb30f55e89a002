// Runs applications with telemetry() and the SDKs of docs/telemetry.md, which send to a collector in this process: a generated
// application with OpenTelemetry and with Sentry, and requests with secrets on each engine. Build first, with the examples, and
// run `npm ci --prefix scripts/telemetry`.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from '../../dist/src/cli/support/compilation.js'
import { Collector } from './collector.js'

const here = fileURLToPath(new URL('.', import.meta.url))
const kit = join(here, '../../dist/src/cli/main.js')
const blog = join(here, 'blog')
const folder = mkdtempSync(join(tmpdir(), 'kit-telemetry-'))
const secret = 'k3y-of-7777-doors'
const missing = '0193b6a2-7c3e-7000-8000-000000000000'
const register = packageFile('@opentelemetry/auto-instrumentations-node/build/src/register.js')
const hook = packageFile('@opentelemetry/instrumentation/hook.mjs')
const children = new Set()

try {
  await prepareBlog()
  const engines = ['sqlite', 'postgres', 'mariadb'].map(checkEngine)
  await Promise.all([checkKoa(), checkSentry(), ...engines])
  console.log(
    'OpenTelemetry and Sentry receive routes, handlers, transactions and statements, and no secret.',
  )
} finally {
  for (const child of children) child.kill('SIGKILL')
  for (const path of [folder, blog]) rmSync(path, { recursive: true, force: true })
}

/** examples/blog with telemetry(). */
async function prepareBlog() {
  const isSource = (path) => !/[\\/](node_modules|dist|db|spec)$/.test(path)
  cpSync(join(here, '../../examples/blog'), blog, { recursive: true, filter: isSource })
  const file = join(blog, 'src/app.ts')
  const source = readFileSync(file, 'utf8').replace('app.use(', 'app.extend(telemetry())\n\napp.use(')
  writeFileSync(file, `import { telemetry } from 'resource-kit/telemetry'\n${source}`)
  await build(blog, 'everything')
}

/** The instrumentations of HTTP and Koa, which needs a loader hook. */
async function checkKoa() {
  const collector = await new Collector().open()
  const options = `--experimental-loader=${hook} --import ${register}`
  await requestPost(startBlog({ ...otlp(collector), NODE_OPTIONS: options }))
  const request = await collector.until(
    () =>
      collector.spans.find(
        ({ kind, attributes }) => kind === 2 && attributes['url.path'] === `/posts/${missing}`,
      ),
    'A post',
  )
  assert.equal(request.name, 'GET /posts/:post_id')
  assert.equal(request.attributes['http.route'], '/posts/:post_id')
  assert.equal(request.attributes['url.query'], '[FILTERED]')
  const names = collector.spans.filter(({ traceId }) => traceId === request.traceId).map(({ name }) => name)
  for (const name of ['router - /posts/:post_id', 'PostsResource.show', 'SELECT', 'transaction'])
    assert.ok(names.includes(name), `${name} is not in ${names}`)
  collector.close()
}

async function checkSentry() {
  const collector = await new Collector().open()
  const NODE_OPTIONS = `--import ${pathToFileURL(join(here, 'instrument.js'))}`
  const SENTRY_DSN = `http://public@127.0.0.1:${collector.port}/1`
  await requestPost(startBlog({ NODE_OPTIONS, SENTRY_DSN }))
  const { spans } = collector
  const request = await collector.until(() => spans.find((span) => span.is_segment), 'A request')
  assert.equal(request.name, 'GET /posts/:post_id')
  for (const name of ['PostsResource.show', 'SELECT', 'transaction'])
    await collector.until(() => spans.some((span) => span.name === name), name)
  assert.deepEqual(
    spans.filter((span) => JSON.stringify(span).includes(secret)),
    [],
  )
  collector.close()
}

/** The requests of spec/acceptance/http/telemetry.spec.ts. */
async function checkEngine(engine) {
  const collector = await new Collector().open()
  const child = start(process.execPath, [join(here, 'main.js')], {
    env: { ...otlp(collector), KIT_ENGINE: engine, SECRET: secret, NODE_OPTIONS: `--import ${register}` },
  })
  await printed(child, /sent/)
  const { spans, points } = collector
  const named = (name) => spans.filter((span) => span.name === name)
  await collector.until(() => named('mail welcome')[0] && named('DELETE')[0], 'The last request')

  const [list] = named('GET /posts')
  const [handler] = named('listPosts')
  const inHandler = spans.filter(({ parentSpanId }) => parentSpanId === handler.spanId)
  assert.equal(handler.parentSpanId, list.spanId)
  const scopes = {
    sqlite: 'resource-kit',
    postgres: '@opentelemetry/instrumentation-pg',
    mariadb: '@opentelemetry/instrumentation-mysql2',
  }
  assert.ok(inHandler.some(({ name }) => name === 'transaction'))
  assert.ok(
    inHandler.some(({ scope, kind }) => scope === scopes[engine] && kind === 3),
    'no statement',
  )
  assert.equal(named('POST /posts')[0].attributes['http.response.status_code'], 422)
  const outcomes = named('transaction').map(({ attributes }) => attributes['resource_kit.outcome'])
  assert.ok(outcomes.includes('conflict'))
  const failures = spans.filter(({ scope, events }) => scope === 'resource-kit' && events.length > 0)
  assert.deepEqual(
    failures.map(({ status, events }) => [status.code, events[0].name]),
    [[2, 'exception']],
  )
  const ours = spans.filter(
    ({ scope, kind }) => scope === 'resource-kit' || (/http/.test(scope) && kind === 2),
  )
  assert.deepEqual(
    ours.filter((span) => JSON.stringify(span).includes(secret)),
    [],
  )
  assert.ok(ours.some(({ attributes }) => attributes['url.query'] === '[FILTERED]'))
  const metrics = ['http.server.request.duration', 'db.client.connection.wait_time']
  if (engine === 'sqlite') metrics.push('db.client.operation.duration')
  await collector.until(() => metrics.every((name) => points.get(name)?.length > 0), 'A metric')
  assert.ok(points.get('http.server.request.duration').some((it) => it['http.route'] === '/posts'))
  collector.close()
}

function otlp({ port }) {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_NODE_RESOURCE_DETECTORS: 'env',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    OTEL_METRIC_EXPORT_TIMEOUT: '400',
  }
}

function startBlog(env) {
  return start(process.execPath, [kit, 'start', '--migrate'], {
    cwd: blog,
    env: {
      GO_ENV: 'development',
      PORT: '0',
      DATABASE_URL: `sqlite:${mkdtempSync(join(folder, 'blog-'))}/blog.sqlite`,
      ...env,
    },
  })
}

async function requestPost(child) {
  const [address] = await printed(child, /http:\/\/127\.0\.0\.1:\d+/)
  const headers = { Accept: 'application/json', Cookie: `name=${secret}`, Authorization: `Bearer ${secret}` }
  const response = await fetch(`${address}/posts/${missing}?token=${secret}`, { headers })
  assert.equal(response.status, 404)
  await response.text()
}

function start(program, args, { env, ...options }) {
  const stdio = ['ignore', 'pipe', 'pipe']
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio, ...options })
  children.add(child)
  return child
}

/** Waits until a process has printed something. */
function printed(child, pattern) {
  let output = ''
  return new Promise((resolve, reject) => {
    const read = (chunk) => {
      output += chunk
      const found = pattern.exec(output)
      if (found) resolve(found)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', () => reject(new Error(`A process has ended:\n${output}`)))
  })
}

function packageFile(path) {
  return pathToFileURL(join(here, 'node_modules', path))
}
