/** The kinds of messages that the style sheet knows. An application may have others. */
export type FlashType = 'success' | 'info' | 'warning' | 'danger' | (string & {})

/** A message that waits for the next page: its type and its text. */
export interface FlashMessage {
  type: string
  message: string
}

/** The messages that wait, the oldest first. */
export type Flash = FlashMessage[]

/** So many messages wait at most: the newest ones. */
const mostMessages = 5

/** So long is a message at most. */
const mostCharacters = 500

/** The messages with another one: the newest five, each cut after 500 characters. */
export function addMessage(flash: Flash, type: string, message: string): Flash {
  return [...flash, { type, message: shortened(message) }].slice(-mostMessages)
}

/** The messages of a value that JSON has kept; none of anything else. */
export function readFlash(kept: unknown): Flash {
  return Array.isArray(kept) ? kept.filter(isFlashMessage) : []
}

function shortened(message: string): string {
  if (message.length <= mostCharacters) return message
  // Not between the two halves of a character.
  return `${message.slice(0, mostCharacters - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

function isFlashMessage(value: unknown): value is FlashMessage {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    typeof value.type === 'string' &&
    'message' in value &&
    typeof value.message === 'string'
  )
}
