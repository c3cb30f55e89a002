import type { PathPattern } from './path.js'
import type { Route } from './route.js'
import type { RouteTable } from './route-table.js'

/** A folder of static files that is mounted at a path. */
export interface StaticMount {
  prefix: string
  folder: string
  /** How many routes were declared before it. */
  order: number
}

/** A sentence for each route that can never answer, because an earlier declaration takes its requests. */
export function shadowedRoutes(table: RouteTable, mounts: readonly StaticMount[]): string[] {
  return table.routes.flatMap((route, order) => {
    const mount =
      route.method === 'GET' ? mounts.find((it) => it.order <= order && isBeneath(it, route)) : undefined
    if (mount) {
      return `${title(route)} is never reached: the static files at ${mount.prefix} are declared before it. Declare them last.`
    }
    const earlier = table
      .match(route.host?.sample ?? '', samplePath(route.pattern))
      .find((match) => match.route.answers(route.method))?.route
    if (!earlier || earlier === route) return []
    return `${title(route)} is never reached: ${title(earlier)} is declared before it and takes its requests.`
  })
}

function isBeneath(mount: StaticMount, route: Route): boolean {
  return mount.prefix === '/' || route.path === mount.prefix || route.path.startsWith(`${mount.prefix}/`)
}

function title(route: Route): string {
  return `${route.method} ${route.path} (${route.handlerName})`
}

/** A path that matches the pattern, with values that no static segment is likely to have. */
function samplePath(pattern: PathPattern): string {
  return pattern.fill([Object.fromEntries(pattern.params.map((name) => [name, '~sample~']))])
}
