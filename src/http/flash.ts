/** The kinds of messages that the style sheet knows. An application may have others. */
export type FlashType = 'success' | 'info' | 'warning' | 'danger' | (string & {})

/** A message that waits for the next page: its type and its text. */
export interface FlashMessage {
  type: string
  message: string
}

export type Flash = FlashMessage[]

const key = 'flash'

type Session = Record<string, unknown>

/** The messages of a session as they were before a request wrote or took some. */
const before = new WeakMap<Session, unknown>()

/** Keeps a message in the session. */
export function addFlash(session: Session, type: string, message: string): void {
  remember(session)
  session[key] = [...readFlash(session), { type, message }]
}

/** Takes the messages out of the session. */
export function takeFlash(session: Session | null): Flash {
  const messages = session ? readFlash(session) : []
  if (session && messages.length > 0) {
    remember(session)
    delete session[key]
  }
  return messages
}

/** The messages of the session, which stay there. */
export function readFlash(session: Session): Flash {
  const kept = session[key]
  return Array.isArray(kept) ? kept.filter(isFlashMessage) : []
}

/** Puts the messages back that a request has taken, and takes those back that it wrote. */
export function restoreFlash(session: Session): void {
  if (!before.has(session)) return
  const messages = before.get(session)
  if (messages === undefined) delete session[key]
  else session[key] = messages
}

function remember(session: Session): void {
  if (!before.has(session)) before.set(session, session[key])
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
