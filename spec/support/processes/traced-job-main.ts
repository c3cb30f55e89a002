// Runs a job that fails, and one that succeeds after many equal queries, in development with telemetry(), and prints the spans and
// the log as JSON. The arguments are the url of a database with the tables of jobs, and a secret.
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'

const exporter = new InMemorySpanExporter()
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register()

await import('reflect-metadata')
const { App, transaction } = await import('../../../src/index.js')
const { jobQueue } = await import('../../../src/jobs/index.js')
const { telemetry } = await import('../../../src/telemetry/index.js')
const { captureLog } = await import('../../../src/testing/index.js')
const { failingStatement } = await import('../failing-statement.js')
const { Anything, behavior, digestsDatabase, Effect } = await import('../applications/digests.js')

const [url = '', secret = ''] = process.argv.slice(2)
const database = digestsDatabase(url)
const log = captureLog()
const app = new App({ api: true, env: 'development', logger: log.logger })
const jobs = jobQueue(database, { jobs: [Anything], queues: ['urgent', 'default'] })
app.extend(telemetry())
app.use(transaction(database, { checksMigrations: false }))
app.extend(jobs)
app.post('/', async (ctx) => {
  await ctx.enqueue(Anything, { text: secret })
  ctx.status = 201
})
process.env['JOBS'] = '0'
const address = await app.listen(0, '127.0.0.1')
behavior.perform = async (_args, job) => {
  if (job.attempt === 1) await job.tx.query(failingStatement(`${secret} of SQL`))
  job.log.info('counting')
  for (let count = 0; count < 7; count += 1) await job.tx.countBy(Effect, { text: secret })
}
const headers = { 'X-Request-Id': 'the-request' }
await fetch(address, { method: 'POST', headers })
await jobs.drain({ rethrow: false })
await jobs.drain({ delayed: true })
await app.close()
const spans = exporter.getFinishedSpans().map((span) => ({
  name: span.name,
  kind: span.kind,
  attributes: span.attributes,
  events: span.events.map(({ name, attributes }) => ({ name, attributes })),
  status: span.status.code,
  parent: span.parentSpanContext?.spanId,
  id: span.spanContext().spanId,
  trace: span.spanContext().traceId,
}))
console.log(JSON.stringify({ spans, lines: log.lines }))
process.exit()
