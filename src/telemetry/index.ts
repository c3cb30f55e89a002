/**
 * Traces and metrics by OpenTelemetry.
 *
 * @module resource-kit/telemetry
 */

import { context, ProxyTracerProvider, SpanStatusCode, trace } from '@opentelemetry/api'
import { getRPCMetadata, RPCType } from '@opentelemetry/core'
import type { Next } from 'koa'
import { addedLogFields, explainDatabaseError, logFields, redactedPath, statusOf } from '../extension.js'
import type { Context, Extension } from '../index.js'
import { exceptionOf } from './exception.js'
import { traceJob } from './job-span.js'
import { isSampled, report } from './report.js'

/**
 * Traces requests by OpenTelemetry, or by a product that builds on it: the route and the handler of each
 * request, its transaction, its statements on SQLite, its pages and mails; and the runs of jobs. Without an
 * SDK, it does nothing. Register it before all middleware.
 *
 * @example app.extend(telemetry())
 */
export function telemetry(): Extension {
  async function telemetry(ctx: Context, next: Next): Promise<void> {
    const parent = trace.getActiveSpan()
    if (!parent || !isSampled(parent)) return next()
    const attributes = { 'resource_kit.request_id': ctx.requestId }
    const span = trace.getTracer('resource-kit').startSpan(ctx.method, { attributes })
    try {
      await context.with(trace.setSpan(context.active(), span), next)
    } catch (error) {
      if (statusOf(explainDatabaseError(error)) >= 500) {
        span.recordException(exceptionOf(error))
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      throw error
    } finally {
      // The body of a form selects the route, so a request that was rejected before its body has no route.
      const { route }: Partial<Context> = ctx
      span.updateName(route?.handlerName ?? ctx.method).end()
    }
  }

  return {
    name: 'telemetry',
    middleware: Object.assign(telemetry, { beforeBody: true }),
    begin,
    aroundJob: traceJob,
    async start() {
      const provider = trace.getTracerProvider()
      // The delegate of a proxy is the SDK. Without it, nobody reads the report.
      if (!(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('resource-kit')) report()
    },
  }
}

/** Adds the ids of a request's span to the log, and at its end, the route, the filtered URL and the log's counts to it. */
function begin(ctx: Context): void {
  const metadata = getRPCMetadata(context.active())
  // With the instrumentation of Koa, the active span is not that of the request, but the metadata contains
  // it.
  const span = metadata?.span ?? trace.getActiveSpan()
  if (!span) return
  const { traceId, spanId } = span.spanContext()
  logFields(ctx, { trace_id: traceId, span_id: spanId })
  const { res } = ctx
  let { statusCode } = res
  // The instrumentation has already added a listener that ends the span, so this one is added before it.
  res.prependOnceListener('close', () => {
    statusCode = res.statusCode
    // The span gets the status of the line in the log.
    if (!res.headersSent) res.statusCode = 499
    const route: unknown = ctx._matchedRoute
    if (metadata?.type === RPCType.HTTP && typeof route === 'string') metadata.route = route
    span.setAttribute('url.path', redactedPath(ctx))
    if (ctx.querystring !== '') span.setAttribute('url.query', '[FILTERED]')
    // How many rows were exported, lines imported, records changed, entries of a history written.
    for (const [name, count] of Object.entries(addedLogFields(ctx)))
      if (typeof count === 'number') span.setAttribute(`resource_kit.${name}`, count)
  })
  // The handler may still run, and the transaction ends by its status.
  res.once('close', () => {
    if (!res.headersSent) res.statusCode = statusCode
  })
}
