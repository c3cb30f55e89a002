import { relative } from 'node:path'

/**
 * The errors of an application, one class each. An error that becomes a response has a `status`. A mistake in
 * the application's own code that is found at the start is a `DeclarationError`. The errors of the command
 * line are in command-errors.ts.
 */

/** The base of the framework's errors. */
export class NamedError extends Error {
  /** The name of the error's class. */
  override name = this.constructor.name
}

/** A mistake in the declaration of an application. It stops the start with a one-line message. */
export class DeclarationError extends NamedError {}

/**
 * A failure that becomes a response.
 *
 * @example throw new HttpError(402, 'The subscription has ended.')
 */
export class HttpError extends NamedError {
  /** Whether production may show the message, too. */
  readonly isPublic: boolean = true

  /** The `type` of the problem document: a URI that tells errors of one status apart (RFC 9457). */
  declare readonly type?: string

  /**
   * @param status the HTTP status of the response, 400 to 599
   * @param message the `detail` of the problem document
   * @param headers headers of the response, for example `Allow`
   */
  constructor(
    readonly status: number,
    message: string,
    readonly headers: Record<string, string> = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** The base of an error whose message is made from the arguments of its constructor. */
function namedError<Args extends unknown[]>(
  message: (...args: Args) => string,
): new (...args: Args) => NamedError {
  return class extends NamedError {
    constructor(...args: Args) {
      super(message(...args))
    }
  }
}

/** The base of an error with a status, whose message is made from the arguments of its constructor. */
function httpError<Args extends unknown[]>(
  status: number,
  message: (...args: Args) => string,
  isPublic = true,
): new (...args: Args) => HttpError {
  return class extends HttpError {
    override readonly isPublic = isPublic

    constructor(...args: Args) {
      super(status, message(...args))
    }
  }
}

/** The base of an error whose message is for the application's developers, so production does not show it. */
function internalError<Args extends unknown[]>(
  message: (...args: Args) => string,
): new (...args: Args) => HttpError {
  return httpError(500, message, false)
}

/** 400: the request cannot be read. */
export class BadRequest extends HttpError {
  constructor(message: string, options?: ErrorOptions) {
    super(400, message, {}, options)
  }
}

/** 400: the body consists of many small chunks, each as costly as a large one. The connection is closed. */
export class TooManyChunks extends HttpError {
  /** @param chunkSize the least number of bytes that the chunks must have on average */
  constructor(chunkSize: number) {
    const message = `The body was sent in chunks of fewer than ${chunkSize} bytes. Send it in larger chunks.`
    super(400, message, { Connection: 'close' })
  }
}

/** 400: the request is for a host that the application does not serve. */
export class UnknownHost extends httpError(
  400,
  (host: string) => `${JSON.stringify(host)} is not a host of this application.`,
) {}

/** 401: the request has no user, and its client does not show pages. */
export class Unauthorized extends HttpError {
  /** @param scheme the value of `WWW-Authenticate`: `Session` or `Bearer` */
  constructor(scheme: string, message = 'Sign in to use this address.') {
    super(401, message, { 'WWW-Authenticate': scheme })
  }
}

/** 403: in development, the request is for a host that is neither this machine nor a configured host. */
export class BlockedHost extends httpError(
  403,
  (host: string) =>
    `${JSON.stringify(host)} is not a host of this application in development. Add it to DEVELOPMENT_HOSTS, or to ` +
    'new App({ developmentHosts: [...] }).',
) {}

/** 403: in development, a proxy forwarded the request, and its host is not configured. */
export class ForwardedInDevelopment extends httpError(
  403,
  () =>
    'A proxy forwarded this request to an application in development, whose error pages show its source. Set ' +
    'GO_ENV=production, or add the host to DEVELOPMENT_HOSTS or to new App({ developmentHosts: [...] }).',
) {}

/** 403: a page of another site sent the request. `origin` is its origin, `own` the application's. */
export class CrossSiteRequest extends httpError(
  403,
  (origin: string, own: string) =>
    `Another site (${origin || 'cross-site'}) sent the request. This site is ${own}.`,
) {}

/** 403: a form has no token, or the token of another session. */
export class InvalidToken extends httpError(
  403,
  () => 'The form has no valid token. Reload its page and send it again.',
) {}

/** 403: the policy of a record does not allow what the request does. */
export class Forbidden extends httpError(
  403,
  (message?: string) => message ?? 'You are not allowed to do this.',
) {}

/** 500: a handler changed records of a model with a policy without ctx.authorize. All is rolled back. */
export class AuthorizationNotPerformed extends internalError(
  (handler: string, model: string) =>
    `${handler} did not call ctx.authorize for the ${model} that it changed, so nothing was saved. Call ` +
    'await ctx.authorize(record) first, or use ctx.unscoped if no policy applies.',
) {}

/** 500: a handler has bound a request to a saved record before it called ctx.authorize. */
export class AuthorizationTooLate extends internalError(
  (handler: string, model: string) =>
    `${handler} called ctx.authorize after ctx.bind, so the policy would decide by values of the request. Authorize ` +
    `the ${model} first: ctx.bind(await ctx.authorize(record)).`,
) {}

/** 500: a handler has changed the id of a record after it called ctx.authorize. */
export class AuthorizedIdChanged extends internalError(
  (handler: string, model: string) =>
    `${handler} changed the id of the ${model} that it authorized, so another row would be written. Find and authorize ` +
    'the record that you want to change.',
) {}

/** `ctx.authorize` or `can` was called with a record whose model has no policy. */
export class NoPolicy extends namedError(
  (model: string) =>
    `${model} has no policy. Declare one: @Resource('/...', { model: ${model}, policy: ${model}Policy }).`,
) {}

/** In development and test, `can` was called with an ability that its policy has no method for. */
export class UnknownAbility extends namedError(
  (policy: string, ability: string) =>
    `${policy} has no method "${ability}", so nobody may do it. Correct the name, or add the method. In production, \`can\` ` +
    'returns false.',
) {}

/** A template called `can` with an ability whose method returns a promise. */
export class AsynchronousAbility extends namedError(
  (policy: string, ability: string) =>
    `${policy}.${ability} is asynchronous, so a template cannot call it. Call await ctx.can('${ability}', record) in the ` +
    'handler, and pass the result to the template.',
) {}

/** The scope of a policy is not a plain object or a list of them, or a value in it is missing. */
export class PolicyWithoutScope extends namedError(
  (policy: string) =>
    `${policy}.scope returned undefined, an object of a class, or conditions in which a value is missing. Return a plain ` +
    'object with conditions, a list of them, `nothing` for no record, or {} for every record.',
) {}

/** A query would join a relation without the policy of its model. */
export class UnscopedRelation extends namedError(
  (model: string, relation: string, related: string) =>
    `${model}.${relation} would be joined without the policy of ${related}. Load it with ctx.load(records, ` +
    `'${relation}'), or use ctx.unscoped.`,
) {}

/** 429: a client, or an account, has used up its attempts. */
export class TooManyRequests extends HttpError {
  /** The values of the translation on the error page. */
  readonly values: { count: number }

  /** @param seconds the time until the limit is reset */
  constructor(seconds: number) {
    super(429, `Too many attempts. Try again in ${seconds} seconds.`, { 'Retry-After': String(seconds) })
    this.values = { count: seconds }
  }
}

/** 404: no route matches the path. */
export class RouteNotFound extends httpError(
  404,
  (method: string, path: string) => `No route matches ${method} ${path}.`,
) {}

/** 404: there is no record with this id. `advice` is for the application's developers. */
export class RecordNotFound extends httpError(
  404,
  (model: string, advice?: string) => `${model} not found.${advice ?? ''}`,
) {}

/** 404: the resource does not override this handler. */
export class ResourceNotImplemented extends httpError(404, () => 'resource not implemented') {}

/** 405: the path has routes, but none for this method. */
export class MethodNotAllowed extends HttpError {
  constructor(method: string, path: string, allowed: string[]) {
    super(405, `${method} is not allowed for ${path}.`, { Allow: allowed.join(', ') })
  }
}

/** 406: the client accepts none of the formats that the handler offers. */
export class NotAcceptable extends httpError(
  406,
  (offered: string[]) => `This resource is only available as ${offered.join(', ')}.`,
) {}

/** 408: the client sends a body too slowly. */
export class RequestTimeout extends HttpError {
  /** @param milliseconds the milliseconds in which too few bytes of the body have arrived */
  constructor(milliseconds: number) {
    super(408, `The body has hardly advanced for ${milliseconds / 1000} seconds.`, { Connection: 'close' })
  }
}

/** 412: the version does not meet `If-Match` or `If-None-Match`, or the handler has not compared it. */
export class PreconditionFailed extends httpError(412, (message: string) => message) {
  override readonly type = 'urn:resource-kit:precondition-failed'
}

/** 428: the resource requires a version from the client, in `If-Match` or in the body (RFC 6585). */
export class PreconditionRequired extends httpError(
  428,
  (field: string) => `Send the version that you have read: its ETag in If-Match, or "${field}" in the body.`,
) {
  override readonly type = 'urn:resource-kit:precondition-required'
}

/** 422: another request has used this `Idempotency-Key`. */
export class IdempotencyKeyReused extends httpError(
  422,
  () => 'Another request has used this Idempotency-Key. Choose a new key for each request.',
) {
  override readonly type = 'urn:resource-kit:idempotency-key-reused'
}

/** 409: the request has been carried out before, and its response was not kept. */
export class ResponseNotKept extends HttpError {
  override readonly type = 'urn:resource-kit:response-not-kept'

  /** @param location the path of the record that the first request has created */
  constructor(location?: string) {
    const message = 'The request has been carried out before, and its response was not kept.'
    super(409, message, location === undefined ? {} : { Location: location })
  }
}

/** 413: the body is larger than the limit. */
export class ContentTooLarge extends httpError(
  413,
  (limit: number) => `The body is larger than ${limit} bytes.`,
) {}

/** 413: a password is so long that hashing it would take too long. */
export class PasswordTooLong extends httpError(413, () => 'The password is too long.') {}

/** 413: a form has too many fields or files. */
export class TooManyFields extends httpError(413, () => 'The form has too many fields or files.') {}

/** 413: a JSON or XML body has more values, or elements and attributes, than `membersLimit`. */
export class TooManyMembers extends httpError(
  413,
  (limit: number) => `The body has more than ${limit} members: values, elements and attributes.`,
) {}

/** 413: a body grows too much when it is decompressed: more than `ratio` bytes for each byte sent. */
export class DecompressionBomb extends httpError(
  413,
  (ratio: number) => `The body is compressed by more than ${ratio}:1.`,
) {}

/** 415: the application does not support the type or encoding of the body. */
export class UnsupportedMediaType extends httpError(
  415,
  (what: string) => `${what} is not supported. Send a form, JSON or XML.`,
) {}

/** 500: a handler used `ctx.tx` without a transaction middleware. In development, it says what to do. */
export class NoTransaction extends httpError(
  500,
  (isDevelopment?: boolean) =>
    `no transaction found${isDevelopment ? '. Add app.use(transaction(database)) above the routes.' : ''}`,
) {}

/** 500: middleware with `beforeBody` used a member of the context that exists after the body: `ctx.tx`. */
export class BeforeBody extends httpError(
  500,
  (member: string) =>
    `${member} is not available in middleware with beforeBody, which runs before the body is read and before the ` +
    'transaction. Remove beforeBody from the middleware, use the member after its next(), or read by database.read.',
) {}

/** 500: a handler or middleware of an API application used `ctx.session`. */
export class NoSession extends httpError(
  500,
  () =>
    'ctx.session is not available, because an API application has no sessions. To use sessions, remove ' +
    '`api: true` from new App().',
) {}

/** 500: a handler did not await queries of its transaction, or ctx.authorize. All is rolled back. */
export class NotAwaited extends httpError(
  500,
  () =>
    'The request ended before its database work was finished, so nothing was saved. ' +
    'Await every ctx.authorize, ctx.save, ctx.destroy and query of ctx.tx.',
) {}

/**
 * 500: a stream of rows was still open when a statement of the same transaction began, or when the handler
 * ended. Only the response to a GET that has written nothing may read on after the handler.
 */
export class RowsNotRead extends httpError(
  500,
  () =>
    'The rows of a stream of ctx.tx have not been read to the end. Read all of them before the next query and before the ' +
    'handler ends, or make them ctx.body in the handler of a GET that writes nothing and has a status below 400.',
) {}

/**
 * 500: some work of a request waits for a lock or a connection that the request's own transaction holds until
 * its end. `waiting` is the caller of the work, and `begun` is the caller that has begun the transaction.
 */
export class WaitsForItself extends internalError(
  (waiting: string, begun: string) =>
    `${waiting} uses the database outside of ctx.tx, and waits for the transaction that ${begun} has begun in the same ` +
    'request. It would wait forever. Change their order, read by database.read instead of ctx.tx in the first one, or ' +
    'use ctx.tx or ctx.afterCommit in the second one.',
) {}

/** 500: a CSV file differs from JSON, because its handler changes or lacks records of `ctx.paginate`. */
export class CsvNotRecords extends httpError(
  500,
  (handler: string) =>
    `${handler} must respond with the \`records\` of ctx.paginate as \`data\`, because the resource has the option csv. ` +
    'A CSV file would show what the handler hides from JSON. Respond with the records unchanged, or remove the option.',
  false,
) {}

/** `transactionOptions()` ran after the first query of its request. */
export class TransactionAlreadyBegun extends namedError(
  () =>
    'The transaction of this request has begun with its first query, so its options cannot change. Register ' +
    'transactionOptions() above the middleware that queries the database.',
) {}

/** A statement writes, but `transactionOptions({ readOnly: true })` is set for its request. */
export class ReadOnlyTransaction extends NamedError {
  constructor(options?: ErrorOptions) {
    const reason = 'because of transactionOptions({ readOnly: true })'
    super(`The transaction of this request is read-only, ${reason}.`, options)
  }
}

/** A query was sent in the transaction of a request that has ended. */
export class TransactionEnded extends namedError(
  () => 'The transaction of this request has ended. Await every promise that uses ctx.tx.',
) {}

/** 499: the client has disconnected before the transaction began. Nobody gets the response. */
export class ClientClosedRequest extends httpError(499, () => 'The client has closed the connection.') {}

/** 429: a client sends too many multipart forms at the same time. */
export class TooManyUploads extends HttpError {
  /** @param seconds the time after which the client should retry */
  constructor(limit: number, seconds: number) {
    const message = `${limit} of your uploads are in progress. Try again when one of them has ended.`
    super(429, message, { 'Retry-After': String(seconds) })
  }
}

/** 503: the service is temporarily unavailable. */
export class ServiceUnavailable extends HttpError {
  /** The message is for the application's developers, so production does not show it. */
  override readonly isPublic = false

  /** @param retryAfter the seconds after which the client should retry */
  constructor(message: string, retryAfter = 1, options?: ErrorOptions) {
    super(503, message, { 'Retry-After': String(retryAfter) }, options)
  }
}

/** 503: the transaction conflicted with another one and was rolled back. */
export class TransactionConflict extends ServiceUnavailable {
  constructor(options?: ErrorOptions) {
    super('Another request is changing the same data. Try again.', 1, options)
  }
}

/** 503: another request has changed or deleted a record since this one read it. All was rolled back. */
export class VersionConflict extends TransactionConflict {}

/** 500: a record was loaded without the version that its model has, so it cannot be compared with its row. */
export class VersionNotLoaded extends internalError(
  (model: string, version: string) =>
    `The ${model} was loaded without ${version}, so this could overwrite the changes of other requests. ` +
    `Add "${version}" to the "select" of the query that loads it.`,
) {}

/** 500: the connection was lost during the commit, so it is not known whether the request was carried out. */
export class OutcomeUnknown extends HttpError {
  constructor(options?: ErrorOptions) {
    super(
      500,
      'The connection to the database was lost during the commit, so it is not known whether the request was ' +
        'carried out. Check before you send it again.',
      {},
      options,
    )
  }
}

/** 500: a handler continued after a query failed, and PostgreSQL rolled the transaction back. */
export class TransactionAborted extends HttpError {
  constructor(options?: ErrorOptions) {
    super(
      500,
      'PostgreSQL ended the transaction because a query failed, and the handler continued, so nothing was saved. ' +
        'Run queries that may fail in ctx.tx.transaction(...).',
      {},
      options,
    )
  }
}

/** The messages of `ValidationErrors`, by status. */
const invalid = {
  400: 'The query is not valid.',
  409: 'Another record prevents this change.',
  422: 'The record is not valid.',
}

/** One broken rule of one field. */
export interface Violation {
  /** The rule's name: `present`, `isEmail`, `unique`, ... */
  rule: string
  /** The message for people, translated if there is a translation. */
  message: string
  /** The values in the message: `{ attribute: 'Title', max: 80 }`. */
  values?: Record<string, unknown>
  /** Whether the rule was added without a message, so that any translation is preferred. */
  isDefault?: boolean
}

/**
 * 422: the errors of a record, by field. 409: the database rejected the record because of another one. 400:
 * the errors of a query, by parameter.
 *
 * Templates call `errors.on('title')`. JSON and XML contain `errors.messages`.
 */
export class ValidationErrors extends HttpError {
  readonly fields = new Map<string, Violation[]>()

  constructor(status: 422 | 409 | 400 = 422, options?: ErrorOptions) {
    // Each save of a record creates one, no code reads its stack, and capturing the stack takes 18 % of the
    // CPU time of a failed validation.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(status, invalid[status], {}, options)
    Error.stackTraceLimit = stackTraceLimit
  }

  /**
   * Adds a broken rule to a field. The `base` field stands for the whole record.
   *
   * An error of a hook or a handler is shown as the first of these that exists: the translation
   * `validation.<model>.<field>.<rule>`, the application's translation `validation.<rule>`, the message, the
   * framework's translation `validation.<rule>`, and `validation.invalid`.
   *
   * @example errors.add('title', 'taken')
   */
  add(field: string, rule: string, message?: string, values?: Record<string, unknown>): this {
    const violation: Violation = {
      rule,
      message: message ?? `${field} is not valid.`,
      ...(values && { values }),
      ...(message === undefined && { isDefault: true }),
    }
    this.fields.set(field, [...(this.fields.get(field) ?? []), violation])
    return this
  }

  /** Returns the messages of a field, in the order in which they were added. */
  on(field: string): string[] {
    return (this.fields.get(field) ?? []).map((violation) => violation.message)
  }

  /** Whether there are no errors. */
  get isEmpty(): boolean {
    return this.fields.size === 0
  }

  /** The broken rules by field, in the order of the messages: `{ title: ['present'] }`. */
  get codes(): Record<string, string[]> {
    return Object.fromEntries(
      [...this.fields].map(([field, violations]) => [field, violations.map(({ rule }) => rule)]),
    )
  }

  /** The messages by field: `{ title: ['Title cannot be blank.'] }`. */
  get messages(): Record<string, string[]> {
    return Object.fromEntries([...this.fields.keys()].map((field) => [field, this.on(field)]))
  }
}

/** 409: the record has changed since the client has read it. The rule of `base` is `stale`. */
export class StaleRecord extends ValidationErrors {
  override readonly type = 'urn:resource-kit:stale-record'

  constructor() {
    super(409)
    this.add(
      'base',
      'stale',
      'The record has been changed since you opened this page. Your changes are not saved yet. Save again to replace the ' +
        'current values.',
    )
  }
}

/** A handler tries to lock a record in a request that only reads. */
export class LockWhileReading extends namedError(
  (method: string) =>
    `A ${method} request cannot lock a record. Lock it in the handler of a request that writes: POST, PUT, PATCH or DELETE.`,
) {}

/** A test's factory cannot create a record, because its model or the database rejects it. */
export class FactoryError extends namedError((model: string, { messages }: ValidationErrors) => {
  const sentences = Object.entries(messages)
    .map(([field, texts]) => `${field}: ${texts.join(' ')}`)
    .map((sentence) => sentence.replace(/(?<![.!?])$/, '.'))
  return (
    `The factory cannot create a ${model}: ${sentences.join(' ')} ` +
    `Pass valid values, or define defaults: factory.define(${model}, (n) => ({ ... })).`
  )
}) {}

/** A template does not exist, or its name leads out of the template folders. */
export class TemplateNotFound extends NamedError {
  /** @param tried the paths that were tried; empty if the name was rejected */
  constructor(
    readonly view: string,
    readonly tried: string[],
  ) {
    super(
      tried.length > 0
        ? `There is no template ${JSON.stringify(view)}. Create ${tried[0]}.`
        : `The template ${JSON.stringify(view)} is outside the template folders. Use a name inside them, like "posts/show".`,
    )
  }
}

/** A path helper lacked a parameter of its path; `unsaved` is the class of a record without an id. */
export class MissingParameter extends namedError(
  (helper: string, path: string, parameter: string, unsaved?: string) =>
    `${helper} (${path}) requires the parameter "${parameter}", which is missing.` +
    (unsaved
      ? ` The ${unsaved} that was passed has not been saved. Was \`await ctx.save(...)\` forgotten?`
      : ''),
) {}

/** A form or button of a template would be sent to another site, or run a script. */
export class UnsafeAction extends namedError(
  (url: string) =>
    `A form cannot be sent to ${JSON.stringify(url)}, because it has a CSRF token. Use a path of this site, such as ` +
    'postPath(post). For another site, write the form by hand.',
) {}

/** `ctx.message` was set to a string that the status line of a response cannot contain. */
export class BadStatusMessage extends namedError(
  (text: string) =>
    `ctx.message cannot be ${JSON.stringify(text)}: it is part of the status line, which has no line breaks and only ` +
    'characters of Latin-1. Send texts for people in the body.',
) {}

/** `ctx.urlFor` was called in production, and `BASE_URL` is not set. */
export class MissingBaseUrl extends namedError(
  () =>
    'ctx.urlFor needs the address of the application in production. Set BASE_URL, for example to https://blog.example.',
) {}

/** `BASE_URL` is not an HTTP URL without a query and a fragment. */
export class BadBaseUrl extends namedError(
  (url: string) =>
    `BASE_URL is "${url}". It must be an address such as https://blog.example, without a query.`,
) {}

/** There is no route with this name. `near` is a similar name. */
export class UnknownRoute extends namedError(
  (name: string, near: string | undefined) =>
    `No route has the name "${name}".${near ? ` Did you mean "${near}"?` : ''}`,
) {}

/** `ctx.save` or `ctx.destroy` would have to write other rows than that of the record. */
export class NotOneRow extends namedError(
  (reason: string) =>
    `${reason}, but ctx.save and ctx.destroy write the row of one record. Save or destroy the records one after the other, ` +
    'set ids in a property with @RelationIds, or use ctx.tx.save(record) and ctx.tx.remove(record) of TypeORM.',
) {}

/** A model has no relation of this name, or its foreign key has several columns. */
export class UnknownRelation extends namedError(
  (model: string, relation: string) =>
    `${model} has no relation "${relation}" with a foreign key of one column. ` +
    'Declare it with @ManyToOne, @OneToOne, @OneToMany or @ManyToMany.',
) {}

/** `ctx.bind` received an object whose class has no attributes. */
export class NoAttributes extends namedError(
  (className: string) =>
    `${className} is not an entity, and none of its properties has a decorator, so ctx.bind() has nothing to read. ` +
    'Add decorators of class-validator to its properties, for example @Present() or @Allow(), mark the class with ' +
    '@Entity(), or read ctx.request.body.',
) {}

/** A class that `ctx.bind` or the OpenAPI document reads has a property whose type is unknown. */
export class UntypedAttribute extends namedError(
  (
    className: string,
    property: string,
    advice = 'Its type is unknown. Add a decorator that states it: @IsString(), @IsNumber(), @IsBoolean(), @IsDate() or ' +
      '@IsObject(), with { each: true } for a list, or @ValidateNested() for objects of a class.',
  ) => `A request cannot set ${className}.${property}. ${advice}`,
) {}

/** `ctx.bind`, or the `fields` option of a resource, names a property that a request cannot set. */
export class UnknownAttribute extends namedError(
  (className: string, name: string, known: readonly string[]) =>
    `${className} has no attribute "${name}" that a request may set. It has ${known.join(', ') || 'no attributes'}.`,
) {}

/** 500: a handler has called `ctx.bind` with an attribute that its resource's `fields` lack. */
export class UnlistedField extends internalError(
  (handler: string, name: string) =>
    `${handler} binds "${name}". Add it to the "fields" option of @Resource.`,
) {}

/** A locale file cannot be read. It stops the start; in development it fails the next request. */
export class BrokenTranslations extends NamedError {
  constructor(
    readonly file: string,
    readonly line: number,
    problem: string,
  ) {
    const path = relative('', file)
    super(`${path.startsWith('..') ? file : path}, line ${line}: ${problem}`)
  }
}

/** A session is larger than a cookie can be. */
export class SessionTooLarge extends namedError(
  (size: number, limit: number) =>
    `The session has ${size} bytes, but browsers store cookies of at most ${limit} bytes. Store less in it, or ` +
    'use a session store: new App({ sessionStore: databaseSessions(database) }).',
) {}

/** The database has pending migrations. */
export class PendingMigrations extends NamedError {
  constructor(
    readonly names: readonly string[],
    options?: ErrorOptions,
  ) {
    const what = names.length === 1 ? 'A migration has' : `${names.length} migrations have`
    const advice = 'Run `kit db migrate`. Outside production, `npm start` runs migrations too.'
    super(`${what} not been run yet: ${names.join(', ')}. ${advice}`, options)
  }
}

/** A model has a table or columns that no migration creates. */
export class MigrationMissing extends NamedError {
  /** @param commands the commands that generate the migrations */
  constructor(cause: Error, commands: readonly string[]) {
    super(`${cause.message}. Generate the migration: ${commands.join('; ')}`, { cause })
  }
}

/** A database cannot be opened. It stops the start. */
export class DatabaseNotOpened extends NamedError {
  /**
   * @param place the file, or the host and port; never a password
   * @param problem the reason, and a remedy
   */
  constructor(place: string, problem: string, cause: unknown) {
    super(`The database ${place} cannot be opened: ${problem}`, { cause })
  }
}

/** A database server does not permit its user to create or delete the database at `place`. */
export class DatabasePermissionDenied extends namedError(
  (done: 'created' | 'deleted', place: string) =>
    `The database ${place} cannot be ${done}: the server does not permit this user to do it. ` +
    'Grant the permission to the user, or ask an administrator.',
) {}

/** A migration failed. The message contains the changes that remain. */
export class MigrationFailed extends NamedError {
  /**
   * @param left the changes that remain and a remedy, in full sentences
   * @param isRolledBack whether no changes remain
   */
  constructor(
    name: string,
    done: 'run' | 'undone',
    left: string,
    cause: unknown,
    readonly isRolledBack = false,
  ) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    // PostgreSQL's errors name in a detail what prevents a change:
    // `view adults depends on column age of table people`.
    const detail: unknown = Reflect.get(Object(Reflect.get(Object(cause), 'driverError')), 'detail')
    const reasons = [reason, ...(typeof detail === 'string' ? [detail.replaceAll('\n', '; ')] : [])]
    super(`The migration ${name} cannot be ${done}: ${reasons.map(toSentence).join(' ')} ${left}`, { cause })
  }
}

function toSentence(text: string): string {
  return text.replace(/[^.!?]$/, '$&.')
}

/** Another process held the migration lock for too long. */
export class MigrationsLocked extends namedError(
  (minutes: number) =>
    `Another process has been migrating this database for ${minutes} minutes. ` +
    'Check that process, stop it if it hangs, and run `kit db migrate` again.',
) {}

/** The session store cannot be reached. It stops the start. */
export class SessionStoreUnreachable extends NamedError {
  constructor(cause: unknown) {
    const problem = cause instanceof Error && cause.message !== '' ? cause.message : String(cause)
    const message = `The session store is not available: Redis does not respond (${problem}).`
    super(`${message} Start it, or correct its url.`, { cause })
  }
}

/** Another process is listening on the port. */
export class PortInUse extends NamedError {
  constructor(port: number, cause: Error) {
    super(`Port ${port} is in use by another process. Stop it, or set PORT to another number.`, { cause })
  }
}

/** Why an address cannot be used and what to do, by the error code of the system. */
const addressProblems: Record<string, string> = {
  EACCES: 'this process lacks the permission. Set PORT to 1024 or higher, and use a proxy for lower ports.',
  EADDRNOTAVAIL: 'this machine has no such address. Correct HOST.',
  ENOTFOUND: 'the host does not exist. Correct HOST.',
  EAI_AGAIN: 'the host name cannot be resolved now. Set HOST to an IP address.',
}

/** The operating system rejects the address to listen on. */
export class AddressUnavailable extends NamedError {
  /** Whether there is a message for an error code of the operating system. */
  static knows(code: string): boolean {
    return code in addressProblems
  }

  constructor(address: string, code: string, cause: Error) {
    super(`The application cannot listen on ${address}: ${addressProblems[code] ?? code}`, { cause })
  }
}
