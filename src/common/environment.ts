/** The environment that the process runs in: `GO_ENV`, else `NODE_ENV`, else development. Empty variables are ignored. */
export function currentEnvironment(): string {
  return process.env['GO_ENV'] || process.env['NODE_ENV'] || 'development'
}

/** The environment of a request: a middleware's own option, else the application's, else that of the process. */
export function environmentOf(ctx: { readonly env?: string }, option?: string): string {
  return option ?? ctx.env ?? currentEnvironment()
}
