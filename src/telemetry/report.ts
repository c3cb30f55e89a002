import { subscribe } from 'node:diagnostics_channel'
import { metrics, SpanKind, trace, TraceFlags, type Attributes, type Span } from '@opentelemetry/api'
import type { StatementMessage } from '../extension.js'
import type { DeliveryMessage, FileMessage, RenderMessage, TransactionMessage } from '../index.js'

let isReporting = false

/** From now on, creates spans and metrics from the messages that the framework publishes. */
export function report(): void {
  if (isReporting) return
  isReporting = true
  const meter = metrics.getMeter('resource-kit')
  const operations = meter.createHistogram('db.client.operation.duration', { unit: 's' })
  const waits = meter.createHistogram('db.client.connection.wait_time', { unit: 's' })
  const listeners = {
    query({ sql, ms, engine, error, isQuery }: StatementMessage) {
      // The instrumentations of pg and mysql2 report the statements of the other engines.
      if (engine !== 'sqlite' || !isQuery) return
      const operation = /^\w+/.exec(sql)?.[0].toUpperCase() ?? 'SQL'
      const failure = error && { 'error.type': error }
      const attributes = { 'db.system.name': engine, 'db.operation.name': operation, ...failure }
      operations.record(ms / 1000, attributes)
      addSpan(operation, ms, { ...attributes, 'db.query.text': sql }, SpanKind.CLIENT)
    },
    transaction({ outcome, attempt, waited, ms }: TransactionMessage) {
      waits.record(waited / 1000)
      addSpan('transaction', waited + ms, {
        'resource_kit.outcome': outcome,
        'resource_kit.attempt': attempt,
        'resource_kit.waited_ms': waited,
      })
    },
    render({ template, ms, error }: RenderMessage) {
      addSpan(`render ${template}`, ms, { 'error.type': error })
    },
    mail({ name, ms, error }: DeliveryMessage) {
      addSpan(`mail ${name}`, ms, { 'error.type': error })
    },
    file({ name, ms, error }: FileMessage) {
      addSpan(`file ${name}`, ms, { 'error.type': error })
    },
  }
  for (const [name, listener] of Object.entries(listeners))
    // Each channel has messages of one type.
    subscribe(`resource-kit:${name}`, listener as (message: unknown) => void)
}

/** Adds a span that ends now below the current one. */
function addSpan(name: string, ms: number, attributes: Attributes, kind = SpanKind.INTERNAL): void {
  const parent = trace.getActiveSpan()
  if (!parent || !isSampled(parent)) return
  const startTime = performance.timeOrigin + performance.now() - ms
  trace.getTracer('resource-kit').startSpan(name, { kind, attributes, startTime }).end()
}

/** Whether a span is exported. */
export function isSampled(span: Span): boolean {
  return (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0
}
