/** The methods that only read. */
export const READING: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** The idempotent methods, which a client may also retry automatically (RFC 9110, section 9.2.2). */
export const IDEMPOTENT: readonly string[] = [...READING, 'PUT', 'DELETE']
