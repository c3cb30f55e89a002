/**
 * The public API of the framework.
 *
 * @module resource-kit
 */

// The application
export { App } from './application/application.js'
export type { AppOptions } from './application/options.js'
export { Scope } from './routing/scope.js'
export type { DeclaredRoute, RouteResource } from './routing/declared-route.js'
export type { Match } from './routing/route-table.js'
export type { PathArgument, PathPattern } from './routing/path.js'
export type { PathArguments, PathName, PathParams, Paths } from './routing/path-types.js'
export type { HostPattern } from './routing/host.js'
export type { CorsOptions } from './http/security/cors.js'
export type { TrustedProxies } from './http/security/forwarded.js'
export type { BodyFormat } from './http/body/body-kind.js'
export type { Responses } from './http/responder.js'
export type {
  Context,
  Extension,
  Handler,
  Hooks,
  Middleware,
  MiddlewareOptions,
  State,
  UploadedFile,
} from './context.js'
export type { Background, BackgroundTransaction, JobConstructor, JobContext, Queue } from './background.js'
export type { Next } from 'koa'

// The members of the context. Each of these files adds its own to the `Context` type.
export type { DataMembers } from './records/members.js'
export type { HttpMembers } from './http/members.js'
export type { BindOptions } from './models/attributes/attribute-of.js'
export type { ImportMembers } from './many/members.js'
export type { LoggingMembers } from './logging/members.js'
export type { PolicyMembers } from './policies/members.js'
export type { RoutingMembers } from './routing/members.js'
export type { SessionMembers } from './sessions/members.js'
export type { TranslationMembers } from './translations/members.js'
export type { PageMembers } from './views/members.js'

// Resources
export {
  BaseResource,
  Parent,
  Resource,
  type ResourceClass,
  type ResourceOptions,
  type SingularResource,
} from './resources/resource.js'
export type { CsvColumn, ImportOptions, ManyOptions } from './resources/many-options.js'
export { Route } from './resources/route.js'
export type { RouteMethod, RouteOptions } from './resources/decorations.js'
export { Describe } from './resources/describe.js'
export type {
  BodyClass,
  DescriptionOptions,
  HeaderDescription,
  MiddlewareDescription,
  RouteResponse,
} from './resources/route-description.js'
export { Queryable } from './resources/queryable.js'
export type { MethodDecoration } from './resources/decorations.js'
export { Use, type ClassDecoration, type UseOptions } from './resources/use.js'
export {
  nothing,
  Policy,
  type DeclaredPolicy,
  type Nothing,
  type PolicyClass,
  type PolicyScope,
} from './policies/policy.js'

// Data
export { Database, type DatabaseConfig, type DatabaseSettings } from './database/database.js'
export { Model } from './models/model.js'
export { RelationIds } from './models/attributes/relation-ids.js'
export type { DestroyOptions, FindAllOptions, SaveOptions, WriteReason } from './records/members.js'
export { emptyTrash } from './records/empty-trash.js'
export type { Choices } from './records/lists/choices.js'
export type { Where } from './records/conditions.js'
export type { FindRecordOptions, TrashOptions } from './records/locking.js'
export type { RelationOf } from './records/relations.js'
export { Nested, type NestedOptions } from './records/nested/nested.js'
export { Within } from './records/within.js'
export { column, primaryKey, timestamps } from './database/columns.js'
export { uniqueOutsideTrash } from './database/unique-outside-trash.js'
export type { ColumnDetails } from './database/engines/engine.js'
export type { AttributeKind } from './models/attributes/attributes.js'
export type { AttributeOf } from './models/attributes/attribute-of.js'
export type { MigrationReport, MigrationState } from './database/migrations/run.js'
export { Present } from './models/validation/validation.js'
export { CursorPagination, Pagination, type Page, type PageOptions } from './records/lists/pagination.js'
export {
  as,
  filter,
  type CustomFilter,
  type FilterConditions,
  type FilterKind,
  type Filters,
  type IncludeOptions,
  type Operator,
  type RenamedFilter,
  type SortName,
} from './records/lists/declaration.js'
export type { ListQuery, QueryField } from './records/lists/query/list-query.js'
export { prefixIndex } from './records/lists/prefix-index.js'

// Middleware
export type { AnyMiddleware, MiddlewareClass, MiddlewareConstructor } from './injection/middleware-class.js'
export { csrf, type CsrfOptions } from './middleware/csrf.js'
export { forceSSL, type ForceSSLOptions, type StrictTransportSecurity } from './middleware/force-ssl.js'
export { idempotency, type IdempotencyOptions } from './middleware/idempotency/idempotency.js'
export { idempotencyKeysTable } from './middleware/idempotency/keys.js'
export { parameterLogger, type ParameterLoggerOptions } from './middleware/parameter-logger.js'
export {
  securityHeaders,
  type ContentSecurityPolicy,
  type SecurityHeadersOptions,
} from './middleware/security-headers.js'
export { transaction, type TransactionOptions } from './middleware/transaction/transaction.js'
export { transactionOptions } from './middleware/transaction/transaction-options.js'
export type { BeginOptions } from './database/transactions/opening.js'
export { translations, type TranslationsOptions } from './middleware/translations.js'

// Views
export type { Helper } from './views/pages.js'
export { html, type Html } from './views/html.js'
export type { FilterFormOptions } from './views/forms/filter-form.js'
export { sortByLabel, type Choice } from './views/forms/choices.js'

// Sessions
export {
  databaseSessions,
  sessionsTable,
  type DatabaseSessionsOptions,
} from './sessions/database-sessions.js'
export { redisSessions, type RedisSessionsOptions } from './sessions/redis-sessions.js'
export type { IoRedisClient, NodeRedisClient, NodeRedisSentinel, RedisClient } from './common/redis.js'
export type { KeepOptions, SessionData, SessionStore } from './sessions/session-store.js'
export type { Flash, FlashMessage, FlashType } from './sessions/flash.js'

// The messages of the channels of node:diagnostics_channel
export type {
  DeliveryMessage,
  FileMessage,
  QueryMessage,
  RenderMessage,
  TransactionMessage,
} from './common/channels.js'

// Errors: the common ones by name, all of them in `errors`
export {
  BadRequest,
  DeclarationError,
  Forbidden,
  HttpError,
  RecordNotFound,
  ServiceUnavailable,
  TransactionConflict,
  ValidationErrors,
  type Violation,
} from './errors.js'
export * as errors from './errors.js'
