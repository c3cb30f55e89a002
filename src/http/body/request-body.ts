import type Koa from 'koa'
import { rejectBeforeBody } from '../../common/before-body.js'

const read = Symbol('resource-kit:body')

/** Lets `ctx.request.body` throw an error before the body is read, instead of being undefined. */
export function guardBody(request: Koa['request']): void {
  const members: { body?: unknown } & ThisType<Koa.Request & { [read]?: unknown }> = {
    get body() {
      if (this[read] === undefined) rejectBeforeBody(this.ctx, 'ctx.request.body')
      return this[read]
    },
    set body(body) {
      this[read] = body
    },
  }
  Object.defineProperties(request, Object.getOwnPropertyDescriptors(members))
}
