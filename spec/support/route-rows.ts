import type { App } from '../../src/index.js'

/** The routes of an application, one row each: method, path, name and handler. */
export function rowsOf(app: App): string[] {
  return app.routes.map(({ method, path, name, handlerName }) => `${method} ${path} ${name} ${handlerName}`)
}
