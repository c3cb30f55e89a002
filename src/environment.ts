/** The environment that the process runs in: `GO_ENV`, else `NODE_ENV`, else development. */
export function currentEnvironment(): string {
  return process.env['GO_ENV'] || process.env['NODE_ENV'] || 'development'
}
