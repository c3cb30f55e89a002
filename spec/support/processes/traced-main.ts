// Serves an application whose requests OpenTelemetry traces, requests two of its paths, and prints the spans as JSON.
import { register } from 'node:module'
import { registerInstrumentations } from '@opentelemetry/instrumentation'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { KoaInstrumentation } from '@opentelemetry/instrumentation-koa'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'

// Instrumentations change modules while they load, so the application is loaded after this.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url)
const exporter = new InMemorySpanExporter()
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register()
registerInstrumentations({ instrumentations: [new HttpInstrumentation(), new KoaInstrumentation()] })

const { App, BaseResource } = await import('../../../src/index.js')

class PostsResource extends BaseResource {
  override show(ctx: { body: unknown }): void {
    ctx.body = 'shown'
  }
}

const app = new App({ api: true, env: 'test' })
app.resource('/posts', PostsResource)
const address = await app.listen(0, '127.0.0.1')
for (const path of ['/posts/1', '/nothing']) await fetch(address + path)
await app.close()
const spans = exporter.getFinishedSpans().map(({ name, attributes }) => ({ name, attributes }))
console.log(JSON.stringify(spans))
