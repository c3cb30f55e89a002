import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { metrics, SpanKind, trace, TraceFlags, type Attributes, type Span } from '@opentelemetry/api'
import { channels } from '../extension.js'
import type { DeliveryMessage, QueryMessage, RenderMessage, TransactionMessage } from '../index.js'

/** The number of applications of this process that report. */
let users = 0
let end = (): void => {}

/** Makes spans and metrics of what the framework publishes. Returns the function that stops it. */
export function report(): () => void {
  users += 1
  if (users === 1) end = listen()
  return () => {
    users -= 1
    if (users === 0) end()
  }
}

function listen(): () => void {
  const meter = metrics.getMeter('resource-kit')
  const operations = meter.createHistogram('db.client.operation.duration', { unit: 's' })
  const waits = meter.createHistogram('db.client.connection.wait_time', { unit: 's' })
  const listeners: Record<keyof typeof channels, (message: never) => void> = {
    query({ sql, ms, engine, error }: QueryMessage) {
      const operation = /^\w+/.exec(sql)?.[0].toUpperCase() ?? ''
      // The instrumentations of pg and mysql2 report the statements of the other engines.
      if (engine !== 'sqlite' || control.has(operation)) return
      const attributes = {
        'db.system.name': engine,
        'db.operation.name': operation,
        ...(error && { 'error.type': error }),
      }
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
      addSpan(`render ${template}`, ms, error ? { 'error.type': error } : {})
    },
    mail({ name, ms, error }: DeliveryMessage) {
      addSpan(`mail ${name}`, ms, error ? { 'error.type': error } : {})
    },
  }
  const all = Object.values(channels).map(({ name }) => [name, listeners[nameOf(name)]] as const)
  // Each channel has messages of one type.
  for (const [name, listener] of all) subscribe(name, listener as (message: unknown) => void)
  return () => {
    for (const [name, listener] of all) unsubscribe(name, listener as (message: unknown) => void)
  }
}

function nameOf(channel: string | symbol): keyof typeof channels {
  return String(channel).replace('resource-kit:', '') as keyof typeof channels
}

/** The statements that begin and end transactions. */
const control = new Set(['BEGIN', 'START', 'COMMIT', 'ROLLBACK', 'SAVEPOINT', 'RELEASE', 'SET'])

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
