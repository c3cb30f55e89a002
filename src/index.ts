/** The public API of resource-kit. */

// The application
export { App, type AppOptions } from './application.js'
export { Scope, type DeclareOptions } from './routing/scope.js'
export type { Route } from './routing/route.js'
export type { Match } from './routing/route-table.js'
export type { PathArgument } from './routing/path.js'
export type { Context, Handler, Middleware, UploadedFile, Where } from './context.js'

// Resources
export { BaseResource, Resource, type ResourceClass, type ResourceOptions } from './resources/resource.js'
export { Parent } from './resources/parent.js'

// Data
export { Database, type DatabaseConfig } from './data/database.js'
export { Model } from './data/model.js'
export { column, primaryKey, timestamps } from './data/columns.js'
export { Present } from './data/validation.js'
export { Pagination, type Page, type PageOptions } from './data/pagination.js'

// Middleware
export { csrf, type CsrfOptions } from './middleware/csrf.js'
export { forceSSL, type ForceSSLOptions, type StrictTransportSecurity } from './middleware/force-ssl.js'
export { parameterLogger, type ParameterLoggerOptions } from './middleware/parameter-logger.js'
export {
  securityHeaders,
  type ContentSecurityPolicy,
  type SecurityHeadersOptions,
} from './middleware/security-headers.js'
export { transaction } from './middleware/transaction.js'
export { translations, type TranslationsOptions } from './middleware/translations.js'

// Sessions
export {
  databaseSessions,
  sessionsTable,
  type DatabaseSessionsOptions,
} from './sessions/database-sessions.js'
export type { KeepOptions, SessionData, SessionStore } from './sessions/session-store.js'
export type { FlashType } from './http/flash.js'

// Errors
export * from './errors.js'
