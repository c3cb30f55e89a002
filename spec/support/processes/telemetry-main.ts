// Sends the traced requests, and prints their spans and the log as JSON. The arguments are the url of a database with the tables
// of the blog, a secret, and a folder of templates.
import { register } from 'node:module'
import { registerInstrumentations } from '@opentelemetry/instrumentation'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'

// Instrumentations change modules while they load, so the application is loaded after this.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url)
const exporter = new InMemorySpanExporter()
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register()
registerInstrumentations({ instrumentations: [new HttpInstrumentation()] })

const { sendTracedRequests } = await import('../applications/traced-requests.js')
const [url = '', secret = '', templates = ''] = process.argv.slice(2)
const lines = await sendTracedRequests(url, secret, templates)
const spans = exporter.getFinishedSpans().map((span) => ({
  name: span.name,
  attributes: span.attributes,
  events: span.events.map(({ name, attributes }) => ({ name, attributes })),
  status: span.status.code,
  parent: span.parentSpanContext?.spanId,
  id: span.spanContext().spanId,
  trace: span.spanContext().traceId,
}))
console.log(JSON.stringify({ spans, lines }))
