/** The kinds of messages that the style sheet knows. An application may have others. */
export type FlashType = 'success' | 'info' | 'warning' | 'danger' | (string & {})

/** A message that waits for the next page: its type and its text. */
export interface FlashMessage {
  type: string
  message: string
}

/** The messages that wait, the oldest first. */
export type Flash = FlashMessage[]

const key = 'flash'

type Session = Record<string, unknown>

/** So many messages wait at most: the newest ones. */
const mostMessages = 5

/** So long is a message at most. */
const mostCharacters = 500

/** Keeps a message in the session: the newest five, each cut after 500 characters. */
export function addFlash(session: Session, type: string, message: string): void {
  session[key] = [...readFlash(session), { type, message: shortened(message) }].slice(-mostMessages)
}

/** Takes the messages out of the session. */
export function takeFlash(session: Session): Flash {
  const messages = readFlash(session)
  if (messages.length > 0) delete session[key]
  return messages
}

/** Takes the oldest message out of a session that has no room for it; undefined when there is none. */
export function dropOldestFlash(session: Session): FlashMessage | undefined {
  const [oldest, ...rest] = readFlash(session)
  if (rest.length > 0) session[key] = rest
  else if (oldest) delete session[key]
  return oldest
}

/** A copy of a session without its messages. */
export function withoutFlash(session: Session): Session {
  const { [key]: _, ...rest } = session
  return rest
}

/** The messages of the session, which stay there. */
export function readFlash(session: Session): Flash {
  const kept = session[key]
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
