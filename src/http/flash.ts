/** A message that waits for the next page: its type (`success`, `danger`, ...) and its text. */
export interface FlashMessage {
  type: string
  message: string
}

export type Flash = FlashMessage[]

const key = 'flash'

type Session = Record<string, unknown>

/** Keeps a message in the session. */
export function addFlash(session: Session, type: string, message: string): void {
  session[key] = [...readFlash(session), { type, message }]
}

/** Takes the messages out of the session. */
export function takeFlash(session: Session | null): Flash {
  if (!session) return []
  const messages = readFlash(session)
  if (messages.length > 0) delete session[key]
  return messages
}

function readFlash(session: Session): Flash {
  const kept = session[key]
  return Array.isArray(kept) ? kept.filter(isFlashMessage) : []
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
