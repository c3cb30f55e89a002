/** The environment of the process: `GO_ENV`, else `NODE_ENV`, else development. Empty ones are ignored. */
export function currentEnvironment(): string {
  return process.env['GO_ENV'] || process.env['NODE_ENV'] || 'development'
}

/** The environment of a request: a middleware's own option, else the application's, else the process's. */
export function environmentOf(ctx: { readonly env?: string }, option?: string): string {
  return option ?? ctx.env ?? currentEnvironment()
}
