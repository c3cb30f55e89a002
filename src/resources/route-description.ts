import { DeclarationError } from '../errors.js'

/** A class whose properties describe a body, for example a model. */
export type BodyClass = abstract new (...args: never[]) => object

/**
 * The body of a response: a record of a class, a list of records (`[Post]`), a problem document with the errors, or no
 * body.
 */
export type RouteResponse = BodyClass | readonly [BodyClass] | 'problem' | 'empty'

/** The requests and responses of a route, for a document that describes the application. */
export interface RouteDescription {
  /** One line about what the route does. */
  summary?: string | undefined
  /** The class that describes the body of its requests. */
  body?: BodyClass | undefined
  /** Its responses by status. */
  responses?: Readonly<Record<number, RouteResponse>> | undefined
}

/** The options of a route that describe it. */
export interface DescriptionOptions {
  summary?: string
  body?: boolean | BodyClass
  responses?: Readonly<Record<number, RouteResponse>>
}

/**
 * Returns the description of a route.
 *
 * @param handler the name of its handler, for error messages
 * @throws DeclarationError when an option is wrong
 */
export function describeRoute(
  { summary, body, responses }: DescriptionOptions,
  handler: string,
): RouteDescription {
  if (summary !== undefined) checkSummary(summary, handler)
  if (body !== undefined && typeof body !== 'boolean') checkBody(body, handler)
  for (const [status, response] of Object.entries(responses ?? {})) checkResponse(status, response, handler)
  return { summary, body: typeof body === 'function' ? body : undefined, responses }
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
const bodiless = [204, 205, 304]

function checkResponse(status: string, response: unknown, handler: string): void {
  const subject = `The response "${status}" of ${handler}`
  if (!/^[2-5]\d\d$/.test(status)) {
    throw new DeclarationError(`${subject} isn't a valid status. Use a number from 200 to 599.`)
  }
  const item: unknown = Array.isArray(response) && response.length === 1 ? response[0] : response
  if (response !== 'problem' && response !== 'empty' && !isClass(item)) {
    throw new DeclarationError(
      `${subject} is ${format(response)}. Use a class, a list of one class like [Post], "problem" or "empty".`,
    )
  }
  if (bodiless.includes(Number(status)) && response !== 'empty') {
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
