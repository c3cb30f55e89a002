import type Koa from 'koa'
import { BadStatusMessage } from '../errors.js'

/** The characters that Node accepts in a status line. */
const writable = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * Lets `ctx.message` reject what a status line cannot contain, where it is set. Node rejects it when the response is sent, too
 * late for an error response of the application.
 */
export function checkStatusMessages(response: Koa['response']): void {
  const message = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(response), 'message')
  Object.defineProperty(response, 'message', {
    ...message,
    set(this: unknown, value: unknown) {
      const text = String(value)
      if (!writable.test(text)) throw new BadStatusMessage(text)
      message?.set?.call(this, value)
    },
  })
}
