// A stand-in for a collector of OpenTelemetry (OTLP as JSON) and for Sentry's server: it keeps what it receives.
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'

export class Collector {
  /** All spans, with their attributes as objects. Those of OpenTelemetry have the name of their instrumentation, `scope`. */
  spans = []
  /** The data points of metrics, by the name of the metric. */
  points = new Map()
  #events = new EventEmitter()
  #server = createServer((request, response) => this.#receive(request, response))

  async open() {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.port = this.#server.address().port
    return this
  }

  close() {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  /** Waits until something has been received. */
  async until(find, what) {
    const signal = AbortSignal.timeout(20_000)
    for (let found = find(); ; found = find()) {
      if (found) return found
      await once(this.#events, 'received', { signal }).catch(() => {
        throw new Error(`${what} has not been received. ${JSON.stringify({ ...this, points: undefined })}`)
      })
    }
  }

  async #receive(request, response) {
    const sent = await buffer(request)
    const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent).toString()
    if (request.url.startsWith('/api/')) this.#readEnvelope(text)
    else this.#readOtlp(JSON.parse(text))
    response.setHeader('Content-Type', 'application/json').end('{}')
    this.#events.emit('received')
  }

  #readOtlp({ resourceSpans = [], resourceMetrics = [] }) {
    for (const { scope, spans } of resourceSpans.flatMap(({ scopeSpans }) => scopeSpans))
      for (const span of spans)
        this.spans.push({ ...span, scope: scope.name, attributes: toObject(span.attributes) })
    for (const { name, histogram } of resourceMetrics
      .flatMap(({ scopeMetrics }) => scopeMetrics)
      .flatMap(({ metrics }) => metrics))
      this.points.set(
        name,
        (histogram?.dataPoints ?? []).map(({ attributes }) => toObject(attributes)),
      )
  }

  /** An envelope has a line for itself and two for each item; an item with spans has their attributes as `{ name: { value } }`. */
  #readEnvelope(text) {
    const items = text
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? (JSON.parse(line).items ?? []) : []))
    for (const { attributes = {}, ...span } of items) {
      const values = Object.entries(attributes).map(([key, { value }]) => [key, value])
      this.spans.push({ ...span, attributes: Object.fromEntries(values) })
    }
  }
}

function toObject(attributes) {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
