// Uploads and reads a file, and prints the spans as JSON.
import { register } from 'node:module'
import { registerInstrumentations } from '@opentelemetry/instrumentation'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'

// Instrumentations change modules while they load, so the application is loaded after this.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url)
const exporter = new InMemorySpanExporter()
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register()
registerInstrumentations({ instrumentations: [new HttpInstrumentation()] })

await import('reflect-metadata')
const { pino } = await import('pino')
const { telemetry } = await import('../../../src/telemetry/index.js')
const { createTables, itemsApp, openItemsAt } = await import('../applications/items.js')
const { formWith, png } = await import('../file-contents.js')
const { Site } = await import('../site.js')
const [url = '', folder = ''] = process.argv.slice(2)
await createTables(url)
const database = await openItemsAt(url)
const options = { outermost: telemetry(), logger: pino({ level: 'silent' }) }
const site = await Site.open(itemsApp(database, folder, options).app)
await site.get('/items/new')
const form = formWith({ name: 'Lamp' }, [['photo', 'lamp.png', png()]])
const { json } = await site.post('/items', { form, accept: 'json' })
await site.get(json.photo.url)
// The image has no pixels, so it cannot be decoded.
await site.get(json.photo.variants.thumb)
await site.close()
await database.close()
const spans = exporter.getFinishedSpans()
const files = spans.filter(({ name }) => name.startsWith('file '))
console.log(JSON.stringify(files.map(({ name, attributes }) => [name, attributes['error.type'] ?? null])))
