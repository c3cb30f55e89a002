import { DeclarationError } from '../errors.js'

/** A class whose properties describe a body, such as a model. It may be abstract: nobody creates one. */
export type BodyClass = abstract new (...args: never[]) => object

/**
 * The body of a response: a record of a class, a list of records (`[Post]`), a problem document with the
 * errors, no body, or a body of a media type (`'text/csv'`).
 */
export type RouteResponse = BodyClass | readonly [BodyClass] | 'problem' | 'empty' | `${string}/${string}`

/** The options of a route that describe it. */
export interface DescriptionOptions {
  /** One line about what the route does: `Publishes a post`. */
  summary?: string
  /** Further text in Markdown. */
  description?: string
  /**
   * Whether requests have a body, or the class that describes this body. By default, they have one unless the
   * method is GET, HEAD or DELETE.
   */
  body?: boolean | BodyClass
  /**
   * The responses of the route by status: `{ 200: Post, 409: 'problem' }`. They do not change what the route
   * returns.
   */
  responses?: Readonly<Record<number, RouteResponse>>
  /** The fields of the route's multipart form that are files. */
  files?: readonly string[]
  /** The id of the operation in the OpenAPI document. The default is made of the handler and the path. */
  operationId?: string
  /** Whether clients should stop using the route. */
  deprecated?: boolean
}

/** A header in the OpenAPI document. */
export interface HeaderDescription {
  description: string
  /** Whether every response, or request, has the header (no). */
  required?: boolean
}

/** The part of the OpenAPI document that a middleware adds to the routes that it runs for. */
export interface MiddlewareDescription {
  /** The problem documents that the middleware responds with, by status, and their headers. */
  responses?: Readonly<
    Record<number, { description: string; headers?: Readonly<Record<string, HeaderDescription>> }>
  >
  /** The request headers that the middleware reads. */
  requestHeaders?: Readonly<Record<string, HeaderDescription>>
  /** The headers that the middleware sets in all responses. */
  headers?: Readonly<Record<string, HeaderDescription>>
  /** The ways to authenticate, of which one is needed. All but `session` and `bearer` have a scheme. */
  security?: readonly ('session' | 'bearer' | { name: string; scheme: object })[]
}

/**
 * Checks the description of a route.
 *
 * @param handler the name of the route's handler, for messages: `PostsResource.publish`
 * @param method the HTTP method of the route
 * @throws DeclarationError when `summary`, `body`, `responses` or `files` is wrong
 */
export function checkDescription(options: DescriptionOptions, handler: string, method: string): void {
  const { summary, body, responses, files } = options
  if (summary !== undefined) checkSummary(summary, handler)
  if (body !== undefined && typeof body !== 'boolean') checkBody(body, handler)
  for (const [status, response] of Object.entries(responses ?? {})) checkResponse(status, response, handler)
  if (files && (method === 'GET' || method === 'HEAD')) {
    throw new DeclarationError(
      `${handler} has files, but ${method} requests have no body. Remove the "files" option.`,
    )
  }
}

function checkSummary(summary: unknown, handler: string): void {
  if (typeof summary === 'string' && /^\S.*$/.test(summary)) return
  throw new DeclarationError(
    `The summary of ${handler} is ${JSON.stringify(summary)}. Write one line, for example "Publishes a post".`,
  )
}

function checkBody(body: unknown, handler: string): void {
  if (isClass(body)) return
  throw new DeclarationError(
    `The option "body" of ${handler} is ${format(body)}. Use true, false, or a class that describes the body.`,
  )
}

/** The statuses whose responses never have a body (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5). */
const BODILESS_STATUSES = [204, 205, 304]

function checkResponse(status: string, response: unknown, handler: string): void {
  const subject = `The response "${status}" of ${handler}`
  if (!/^[2-5]\d\d$/.test(status)) {
    throw new DeclarationError(`${subject} isn't a valid status. Use a number from 200 to 599.`)
  }
  const item: unknown = Array.isArray(response) && response.length === 1 ? response[0] : response
  const isType = typeof response === 'string' && /^(\*|[\w.+-]+)\/[\w.+*-]+(; *[\w=.+-]+)*$/.test(response)
  if (response !== 'problem' && response !== 'empty' && !isType && !isClass(item)) {
    throw new DeclarationError(
      `${subject} is ${format(response)}. Use a class, a list of one class like [Post], "problem", "empty" or a media type like "text/csv".`,
    )
  }
  if (BODILESS_STATUSES.includes(Number(status)) && response !== 'empty') {
    throw new DeclarationError(`${subject} never has a body. Use "empty", or another status.`)
  }
  if (response === 'problem' && Number(status) < 400) {
    throw new DeclarationError(
      `${subject} is a problem document, but reports no error. Use a status from 400.`,
    )
  }
}

function format(value: unknown): string {
  return typeof value === 'function' ? 'a function' : (JSON.stringify(value) ?? String(value))
}

/** Whether a value is a class, not another function. */
function isClass(value: unknown): boolean {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))
}
