import { createRequire } from 'node:module'

/** Loads a package when it is first used, so that an application that does not use it starts without it. */
export const require = createRequire(import.meta.url)
