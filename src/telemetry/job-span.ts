import {
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { logFields } from '../extension.js'
import type { JobContext } from '../index.js'
import { exceptionOf } from './exception.js'

/** The errors by which a job ends or delays itself. They are not failures. */
const planned = ['Discard', 'RetryLater']

/** Runs a job in its own trace, and adds the ids of the trace and its span to the job's log. */
export async function traceJob(job: JobContext, run: () => Promise<void>): Promise<void> {
  const { name, requestId } = job
  const attributes = requestId === undefined ? {} : { 'resource_kit.request_id': requestId }
  const options = { kind: SpanKind.CONSUMER, attributes }
  const span = trace.getTracer('resource-kit').startSpan(`job ${name}`, options, ROOT_CONTEXT)
  const { traceId, spanId } = span.spanContext()
  // Without an SDK, the ids are not valid.
  if (isSpanContextValid(span.spanContext())) logFields(job, { trace_id: traceId, span_id: spanId })
  try {
    await context.with(trace.setSpan(ROOT_CONTEXT, span), run)
  } catch (error) {
    if (!planned.includes(Object(error).name)) {
      span.recordException(exceptionOf(error))
      span.setStatus({ code: SpanStatusCode.ERROR })
    }
    throw error
  } finally {
    span.end()
  }
}
