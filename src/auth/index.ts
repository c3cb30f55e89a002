/**
 * Accounts: passwords, sign-in, bearer tokens, tokens in links, and rate limits.
 *
 * @module resource-kit/auth
 */

// Passwords
export { hashPassword, needsRehash, verifyPassword } from './passwords.js'
export { checkPassword } from './password-rules.js'
export { normalizeEmail, passwordStamp, type Account, type AccountClass } from './account.js'

// Sign-in
export { authenticate, type AuthenticateOptions } from './authenticate.js'
export { requireUser, type RequireUserOptions } from './require-user.js'
export { signIn, signOut } from './sign-in.js'
export {
  userSessions,
  type UserSession,
  type UserSessions,
  type UserSessionsOptions,
} from './user-sessions.js'
export { takeReturnTo } from './return-to.js'
export { logAccess, type AccessEvent } from './access-log.js'
export { findByLink, lockUnchanged, rehashPassword } from './account-records.js'

// Tokens
export { readToken, signedToken, type ReadTokenOptions, type SignedTokenOptions } from './signed-tokens.js'
export { issueToken, type ApiToken, type ApiTokenClass } from './api-tokens.js'
export type { Duration } from '../extension.js'

// Rate limits
export { rateLimit, type RateLimit, type RateLimitOptions } from './rate-limit.js'
export type { LimitCount, LimitStore } from './stores/limit-store.js'
export { databaseLimits, rateLimitsTable, type DatabaseLimitsOptions } from './stores/database-limits.js'
export { redisLimits, type RedisLimitsOptions } from './stores/redis-limits.js'

// Errors
export { TooManyRequests, Unauthorized } from '../extension.js'
