import { STATUS_CODES } from 'node:http'
import type { Context } from '../../context.js'
import { HttpError, ValidationErrors } from '../../errors.js'
import type { Format } from '../formats/negotiation.js'
import { toXml, XmlList } from '../formats/xml.js'

/** Problem details (RFC 9457): an error in JSON or XML. */
export interface Problem {
  status: number
  title: string
  detail?: string
  request_id: string
  /** The messages by field, if a record is not valid. */
  errors?: Record<string, string[]>
  /** The broken rules by field, in the order of the messages. */
  codes?: Record<string, string[]>
}

/** Returns the problem details of an error. An error other than an HttpError reveals nothing about itself. */
export function problemOf(error: unknown, ctx: Pick<Context, 'requestId' | 't'>): Problem {
  const status = statusOf(error)
  return {
    status,
    title: STATUS_CODES[status] ?? 'Error',
    ...(isPublic(error, status) ? { detail: error.message } : {}),
    request_id: ctx.requestId,
    ...(error instanceof ValidationErrors && {
      detail: ctx.t(`error.${error.status}.record`),
      errors: error.messages,
      codes: error.codes,
    }),
  }
}

/** Returns the status of an error: its own `status` if it is 400 to 599, else 500. */
export function statusOf(error: unknown): number {
  const status: unknown = isForClient(error) ? Reflect.get(error, 'status') : undefined
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599
    ? status
    : 500
}

/**
 * Whether an error determines the response: an HttpError, or an error of Koa's `ctx.throw`. The `status` of any other error has
 * another meaning, such as the response of a service that the handler called.
 */
export function isForClient(error: unknown): error is Error {
  return (
    error instanceof HttpError ||
    (error instanceof Error && typeof Reflect.get(error, 'expose') === 'boolean')
  )
}

/** Writes problem details in their format (RFC 9457, sections 3 and appendix B). */
export function writeProblem(ctx: Context, format: Exclude<Format, 'html'>, problem: Problem): void {
  ctx.status = problem.status
  ctx.type = `application/problem+${format}`
  ctx.body = format === 'json' ? JSON.stringify(problem) : problemXml(problem)
}

function problemXml({ errors, codes, ...problem }: Problem): string {
  const tree = {
    ...problem,
    ...(errors && { errors: elements('message', errors) }),
    ...(codes && { codes: elements('code', codes) }),
  }
  return toXml(tree, 'problem', 'urn:ietf:rfc:7807')
}

/** `{ title: ['a', 'b'] }` as `<title><message>a</message><message>b</message></title>` */
function elements(name: string, lists: Record<string, string[]>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(lists).map(([field, list]) => [field, new XmlList(name, list)]))
}

/** The framework's errors have a message for the client. Others only if they are below 500 and have `expose`. */
function isPublic(error: unknown, status: number): error is Error {
  if (error instanceof HttpError) return error.isPublic
  return error instanceof Error && status < 500 && Reflect.get(error, 'expose') === true
}
