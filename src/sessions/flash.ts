import { shorten } from '../common/shorten.js'

/** The types of messages in the generated style sheet. An application may add others. */
export type FlashType = 'success' | 'info' | 'warning' | 'danger' | (string & {})

/** A message for the next page: its type and its text. */
export interface FlashMessage {
  type: string
  message: string
}

/** The pending messages, the oldest first. */
export type Flash = FlashMessage[]

/** The maximum number of pending messages. The newest ones are kept. */
const maxMessages = 5

/** The maximum length of a message. */
const maxCharacters = 500

/** Adds a message. The newest five are kept, each truncated to 500 characters. */
export function addMessage(flash: Flash, type: string, message: string): Flash {
  return [...flash, { type, message: shorten(message, maxCharacters) }].slice(-maxMessages)
}

/** Returns the messages in the value of a cookie. Any other value has none. */
export function readFlash(value: unknown): Flash {
  return Array.isArray(value) ? value.filter(isFlashMessage) : []
}

function isFlashMessage(value: unknown): value is FlashMessage {
  const { type, message } = Object(value)
  return typeof type === 'string' && typeof message === 'string'
}
