/** The methods that only read. */
export const READING: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** The methods whose requests a client, too, may repeat on its own (RFC 9110, section 9.2.2). */
export const IDEMPOTENT: readonly string[] = [...READING, 'PUT', 'DELETE']
