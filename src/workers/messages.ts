/** What a worker says to the process that has started it. `key` names the port that it is about. */
export type WorkerSays =
  | { kit: 'open'; key: string; port: number; host: string | undefined }
  /** It has the connection that it was handed, and is free for another one. */
  | { kit: 'taken'; key: string }
  | { kit: 'leave'; key: string }
  /** Its `src/main.ts` has been run. */
  | { kit: 'loaded' }
  /** Milliseconds that it takes at most to finish, once it is told to end. */
  | { kit: 'patience'; milliseconds: number }

/** What a worker is told. */
export type PrimarySays =
  | { kit: 'opened'; key: string; address: string }
  | { kit: 'refused'; key: string; code: string; message: string }
  /** Comes with a socket. */
  | { kit: 'connection'; key: string }
  | { kit: 'left'; key: string }

/** What another process says, where it is for us: applications may send messages of their own. */
export function readMessage<Says extends WorkerSays | PrimarySays>(value: unknown): Says | undefined {
  return typeof value === 'object' && value !== null && 'kit' in value ? (value as Says) : undefined
}

/** Tells the process that has started this one, while it is there. */
export function tellPrimary(message: WorkerSays): void {
  if (process.connected) process.send?.(message)
}
