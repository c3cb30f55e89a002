import { Command } from 'commander'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { App } from '../../application/application.js'
import { CommandError } from '../../command-errors.js'
import type { DeclaredRoute } from '../../routing/declared-route.js'
import { loadApp } from '../support/application-modules.js'
import { table } from '../support/table.js'

/** A route in the output of `kit routes`. */
export interface RouteRow {
  method: string
  /** The virtual host, else the configured address of the application. */
  host: string
  path: string
  aliases: string[]
  name: string
  /** `PostsResource.list` */
  handler: string
}

/** A middleware in the output of `kit routes --match`. */
interface MiddlewareRow {
  name: string
  /** `src/middleware/audit.ts:7`, of a middleware class. */
  file?: string
}

interface Options {
  json?: boolean
  grep?: string
  match?: string
  public?: boolean
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
    .option('--public', 'print only the routes without requireUser()')
    .option('--match <request>', 'print the route of a request, its middleware and the file of its handler')
    .addHelpText(
      'after',
      '\nExample:\n  $ kit routes --grep posts\n  $ kit routes --match "PUT /posts/1"\n\nThe exit status of --match is 1 if no route matches.',
    )
    .action(routes)
}

async function routes(options: Options): Promise<void> {
  const app = await loadApp()
  console.log(options.match === undefined ? list(app, options) : match(app, options.match, options))
}

function list(app: App, { grep = '', json, public: isPublic = false }: Options): string {
  const word = grep.toLowerCase()
  const routes = app.routes.filter(
    (route) =>
      !(isPublic && needsUser(route)) &&
      Object.values(rowOf(route, app))
        .flat()
        .some((value) => String(value).toLowerCase().includes(word)),
  )
  const rows = routes.map((route) => rowOf(route, app))
  if (json)
    return JSON.stringify(
      routes.map((route) => ({ ...rowOf(route, app), ...detailsOf(route) })),
      null,
      2,
    )
  if (rows.length === 0 && word) return `No route contains "${grep}".`
  return table(
    ['METHOD', 'HOST', 'PATH', 'ALIASES', 'NAME', 'HANDLER'],
    rows.map(({ aliases, ...row }) => [
      row.method,
      row.host,
      row.path,
      aliases.join(', '),
      row.name,
      row.handler,
    ]),
  )
}

function match(app: App, request: string, { json }: Options): string {
  const { method, host, path } = parse(request)
  const found = app.match(method, path, host)
  if (!found) throw new CommandError(noRoute(app, method, path, host))
  const { route, params } = found
  const { file, ...details } = detailsOf(route)
  const row = {
    ...rowOf(route, app),
    ...details,
    params,
    middleware: route.middleware.map(middlewareRow),
    file,
  }
  if (json) return JSON.stringify(row, null, 2)
  return table(undefined, [
    ['Request', `${method} ${path}`],
    ['Route', `${row.method} ${row.path}${row.name && ` (${row.name})`}`],
    [
      'Parameters',
      Object.entries(params)
        .map((pair) => pair.join('='))
        .join(', ') || 'none',
    ],
    ['Middleware', row.middleware.map(nameAndFile).join(', ') || 'none'],
    ['Handler', row.handler],
    ['File', row.file ?? 'unknown'],
  ])
}

/** Whether a route rejects requests without a user. */
function needsUser({ middleware }: DeclaredRoute): boolean {
  return middleware.some(({ name }) => name === 'requireUser')
}

/** Only the middleware of a class has a file: a function may be one that the framework returned. */
function middlewareRow({ name, middlewareClass }: DeclaredRoute['middleware'][number]): MiddlewareRow {
  const file = middlewareClass && locate(middlewareClass.name)
  return { name: name || 'anonymous', ...(file && { file }) }
}

function nameAndFile({ name, file }: MiddlewareRow): string {
  return file === undefined ? name : `${name} (${file})`
}

function rowOf(route: DeclaredRoute, app: App): RouteRow {
  return {
    method: route.method,
    host: route.host?.pattern ?? app.address,
    path: route.path,
    aliases: route.aliases.map((alias) => alias.path),
    name: route.name ?? '',
    handler: route.handlerName,
  }
}

/** The description of a route, with the names of its classes, and the place of its handler. */
function detailsOf({ description, handlerName }: DeclaredRoute) {
  const { summary, body, responses } = description
  const names = Object.entries(responses ?? {}).map(([status, response]) => [status, nameOf(response)])
  return {
    ...(summary !== undefined && { summary }),
    ...(body && { body: body.name }),
    ...(responses && { responses: Object.fromEntries(names) }),
    file: locate(handlerName),
  }
}

/** The place in src that declares a class, its method or a function: `src/actions/posts.ts:39`. An inherited method has that of the class. */
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

/** `PUT /posts/1`, `/posts` (a GET), or `GET http://tenant.example.com/posts`. */
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
    return decodeURIComponent(path) !== undefined
  } catch {
    return false
  }
}

function noRoute(app: App, method: string, path: string, host: string): string {
  const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((it) => app.match(it, path, host))
  if (others.length === 0) return `No route matches ${method} ${path}.`
  return `No route matches ${method} ${path}. The path has routes for ${others.join(', ')}.`
}
