import type { InitializeHook, ResolveHook } from 'node:module'

/** The part of an URL that all files of the checkout have, whose modules are shared by all runs. */
const checkout = new URL('../../../../dist/', import.meta.url).href

let runs = new Int32Array()

/** Node calls this with the number of the run, which the host of the commands counts. */
export const initialize: InitializeHook<Int32Array<ArrayBuffer>> = (shared) => {
  runs = shared
}

/** Each run loads the modules of the application again, as its own process would. */
export const resolve: ResolveHook = async (specifier, context, next) => {
  const resolved = await next(specifier, context)
  const { url } = resolved
  const isShared = !url.startsWith('file:') || url.startsWith(checkout) || url.includes('/node_modules/')
  return isShared ? resolved : { ...resolved, url: `${url}?run=${runs[0]}` }
}
