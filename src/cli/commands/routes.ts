import { Command, Option } from 'commander'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { App } from '../../application/application.js'
import { CommandError } from '../../command-errors.js'
import { enclosureNames } from '../../records/within.js'
import { NamedError } from '../../errors.js'
import { classOfMiddleware } from '../../injection/middleware-class.js'
import type { DeclaredRoute } from '../../routing/declared-route.js'
import { loadApp } from '../support/application-modules.js'
import { checkDeclarations } from '../support/declarations.js'
import { toJson } from '../support/output.js'
import { MISTAKE, routeTypes, writeRouteTypes } from '../support/route-types.js'
import { table } from '../support/table.js'

interface Options {
  json?: boolean
  grep?: string
  match?: string
  public?: boolean
  types?: boolean
  /** The folder of the compiled files that `kit build` is writing. */
  built?: string
}

/** `kit routes`: prints the routing table that the server uses. */
export function routesCommand(): Command {
  return new Command('routes')
    .description(
      'Prints the routing table that the server uses, in the order of declaration. The first route that matches a ' +
        'request handles it. Does not open the database.',
    )
    .option('--json', 'print a JSON list of objects')
    .option('--grep <word>', 'print only the routes with this word in one of their columns')
    .option('--public', 'print only the routes without requireUser() whose handlers are written')
    .option('--types', 'write .kit/routes.d.ts, with the names of the routes for ctx.pathFor')
    .addOption(new Option('--built <folder>').hideHelp())
    .option('--match <request>', 'print the route of a request, its middleware and the file of its handler')
    .addHelpText(
      'after',
      '\nExample:\n  $ kit routes --grep posts\n  $ kit routes --match "PUT /posts/1"\n\nThe exit status of --match is 1 if no route matches.',
    )
    .action(routes)
}

async function routes(options: Options): Promise<void> {
  const app = await loadApp(options.built)
  app.implyWithin()
  if (options.types) return writeTypes(app, options)
  console.log(options.match === undefined ? list(app, options) : match(app, options.match, options))
}

async function writeTypes(app: App, { built }: Options): Promise<void> {
  const isChanged = writeRouteTypes(process.cwd(), routeTypes(app))
  console.log(isChanged ? 'wrote .kit/routes.d.ts' : '.kit/routes.d.ts is up to date')
  if (built === undefined) return
  const mistake = await checkDeclarations(app).catch(mistakeOf)
  if (mistake !== undefined) console.error(mistake)
  // The application may have started a timer, which would keep this process alive.
  process.exit(mistake === undefined ? 0 : MISTAKE)
}

/** @throws the error, unless it is a mistake in a declaration */
function mistakeOf(error: unknown): string {
  if (error instanceof NamedError) return error.message
  throw error
}

function list(app: App, { grep = '', json, public: isPublic }: Options): string {
  const word = grep.toLowerCase()
  const found = app.routes
    .filter((route) => !isPublic || isOpen(route))
    .map((route) => ({ route, row: rowOf(route, app) }))
    .filter(({ row }) =>
      Object.values(row)
        .flat()
        .some((value) => value.toLowerCase().includes(word)),
    )
  if (json) return toJson(found.map(({ route, row }) => ({ ...row, ...detailsOf(route) })))
  if (found.length === 0 && word) return `No route contains "${grep}".`
  const head = ['METHOD', 'HOST', 'PATH', 'ALIASES', 'NAME', 'HANDLER']
  const columns = { WITHIN: 'within', USES: 'uses' } as const
  const others = Object.entries(columns).filter(([, name]) => found.some(({ row }) => row[name]?.length))
  head.push(...others.map(([title]) => title))
  const rows = found.map(({ row: { within, uses = [], ...row } }) => [
    ...Object.values(row),
    ...others.map(([, name]) => ({ within, uses })[name]),
  ])
  return table(
    head,
    rows.map((row) => row.map((value) => [value].flat().join(', '))),
  )
}

/** Whether visitors without a user reach a handler. */
function isOpen({ middleware, isWritten }: DeclaredRoute): boolean {
  return isWritten && middleware.every(({ name }) => name !== 'requireUser')
}

function match(app: App, request: string, { json }: Options): string {
  const { method, host, path } = parse(request)
  const found = app.match(method, path, host)
  if (!found) throw new CommandError(noRoute(app, method, path, host))
  const { route, params } = found
  const { file, ...details } = detailsOf(route)
  const row = rowOf(route, app)
  const middleware = route.middleware.map(middlewareRow)
  if (json) return toJson({ ...row, ...details, params, middleware, file })
  const parameters = Object.entries(params).map((pair) => pair.join('='))
  const names = middleware.map(({ name, file }) => (file === undefined ? name : `${name} (${file})`))
  return table(undefined, [
    ['Request', `${method} ${path}`],
    ['Route', `${row.method} ${row.path}${row.name && ` (${row.name})`}`],
    ['Parameters', parameters.join(', ') || 'none'],
    ['Middleware', names.join(', ') || 'none'],
    ['Handler', row.handler],
    ...(row.within.length > 0 ? [['Within', row.within.join(', ')]] : []),
    ['File', file ?? 'unknown'],
  ])
}

/** Only the middleware of a class has a file: a function may be one that the framework returned. */
function middlewareRow(middleware: DeclaredRoute['middleware'][number]) {
  const middlewareClass = classOfMiddleware.get(middleware)
  const file = middlewareClass && locate(middlewareClass.name)
  return { name: middleware.name || 'anonymous', ...(file && { file }) }
}

/** The columns of a route. The host is the virtual host, else the configured address of the application. */
function rowOf(route: DeclaredRoute, app: App) {
  return {
    method: route.method,
    host: route.host?.pattern ?? app.address,
    path: route.path,
    aliases: route.aliases.map((alias) => alias.path),
    name: route.name ?? '',
    handler: route.handlerName,
    within: route.resource?.model ? enclosureNames(route.resource.model) : [],
    ...(isOfTeams(route) && /\bctx\.tx\b/.test(String(route.declared)) && { uses: ['ctx.tx'] }),
  }
}

/** Whether a route shows records of teams, whose members the statements of `ctx.tx` do not know. */
function isOfTeams({ resource }: DeclaredRoute): boolean {
  return resource?.policies.some(({ policy }) => 'members' in policy) ?? false
}

/** The description of a route, with the names of its classes, and the place of its handler. */
function detailsOf({ description, handlerName }: DeclaredRoute) {
  const { summary, body, responses } = description
  const names = Object.entries(responses ?? {}).map(([status, response]) => [status, nameOf(response)])
  return {
    ...(summary !== undefined && { summary }),
    ...(typeof body === 'function' && { body: body.name }),
    ...(responses && { responses: Object.fromEntries(names) }),
    file: locate(handlerName),
  }
}

/** The line in src that declares a class, its method or a function: `src/actions/posts.ts:39`. */
function locate(name: string): string | undefined {
  const [, owner, method] = /^(\w+)(?:\.(\w+))?$/.exec(name) ?? []
  if (owner === undefined || !existsSync('src')) return undefined
  for (const file of readdirSync('src', { recursive: true, encoding: 'utf8' }).toSorted()) {
    if (!file.endsWith('.ts')) continue
    const path = join('src', file)
    const lines = readFileSync(path, 'utf8').split('\n')
    const start = lines.findIndex((line) => new RegExp(`\\b(class|function|const) ${owner}\\b`).test(line))
    if (start === -1) continue
    const isMethod = new RegExp(`^\\s+(\\w+ )*${method}\\(`)
    const found = lines.findIndex((line, index) => index > start && isMethod.test(line))
    return `${path}:${(found === -1 ? start : found) + 1}`
  }
  return undefined
}

function nameOf(response: NonNullable<DeclaredRoute['description']['responses']>[number]): string | string[] {
  if (typeof response === 'string') return response
  return typeof response === 'function' ? response.name : response.map(({ name }) => name)
}

/** Parses a request: `PUT /posts/1`, `/posts` (a GET), or `GET http://tenant.example.com/posts`. */
function parse(request: string): { method: string; host: string; path: string } {
  const [whole, method = 'GET', host = '', path = '/'] =
    /^\s*(?:([a-z]+)\s+)?(?:https?:\/\/([^/\s]+))?(\/[^\s?#]*)?(?:[?#]\S*)?\s*$/i.exec(request) ?? []
  if (whole === undefined || !whole.includes('/') || !isEncoded(path)) {
    throw new CommandError(
      `"${request}" isn't a valid request. Write a method and a path: --match "PUT /posts/1".`,
    )
  }
  return { method: method.toUpperCase(), host, path }
}

/** Whether the percent-encoding of a path is well-formed. */
function isEncoded(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

function noRoute(app: App, method: string, path: string, host: string): string {
  const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((it) => app.match(it, path, host))
  if (others.length === 0) return `No route matches ${method} ${path}.`
  return `No route matches ${method} ${path}. The path has routes for ${others.join(', ')}.`
}
