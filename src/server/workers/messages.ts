/** A message from a worker to the primary process. `key` identifies the port. */
export type WorkerMessage =
  | { kit: 'open'; key: string; port: number; host: string | undefined }
  /** The worker has received the connection that was transferred, and is free for another one. */
  | { kit: 'received'; key: string }
  /** The worker requests that it receives no more connections. */
  | { kit: 'withdraw'; key: string }
  /** The application has background jobs, which another process runs. */
  | { kit: 'jobs' }
  /** A background job was enqueued. */
  | { kit: 'wake' }
  /** The worker has run `src/main.ts`. */
  | { kit: 'loaded' }
  /** The maximum milliseconds of the worker's graceful shutdown. */
  | { kit: 'shutdownTimeout'; milliseconds: number }

/** A message from the primary process to a worker. */
export type PrimaryMessage =
  | { kit: 'opened'; key: string; address: string }
  | { kit: 'failed'; key: string; code: string; message: string }
  /** Sent together with a socket. */
  | { kit: 'connection'; key: string }
  /** Confirms `withdraw`: the worker receives no more connections. */
  | { kit: 'withdrawn'; key: string }
  /** A background job was enqueued by another worker. */
  | { kit: 'wake' }

/** Reads a message of the framework; undefined for a message of the application itself. */
export function readMessage<Message extends WorkerMessage | PrimaryMessage>(
  value: unknown,
): Message | undefined {
  return typeof value === 'object' && value !== null && 'kit' in value ? (value as Message) : undefined
}

/** Sends a message to the primary process, if this process is still connected to one. */
export function reportToPrimary(message: WorkerMessage): void {
  if (process.connected) process.send?.(message)
}
