/** The methods that only read. */
export const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** The idempotent methods, which a client may also retry automatically (RFC 9110, section 9.2.2). */
export const IDEMPOTENT_METHODS: readonly string[] = [...SAFE_METHODS, 'PUT', 'DELETE']
