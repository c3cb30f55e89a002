import { addLogFields, currentCommand, type RecordWork } from '../extension.js'
import type { Context, JobContext } from '../index.js'
import type { HistoryEntry } from './entry.js'

/** The parts of a request or a job that an entry names. */
type Origin = Partial<Pick<Context, 'method' | 'route' | 'requestId'> & Pick<JobContext, 'name'>> & {
  user?: { id?: unknown }
}

/** The user who has caused a write, and the place in the application. */
export function originOf({ request }: RecordWork): Pick<HistoryEntry, 'user_id' | 'source' | 'request_id'> {
  const { user, route, name, requestId }: Origin = request ?? {}
  const handler = route?.resource ? route.handlerName : route && `${route.method} ${route.path}`
  const id = user?.id ?? undefined
  return {
    user_id: id === undefined ? null : String(id),
    source: handler ?? name ?? currentCommand() ?? null,
    request_id: requestId ?? null,
  }
}

/** The entries of requests and jobs, each with the work of its last attempt. */
const counts = new WeakMap<object, { attempt: unknown; entries: number }>()

/** Counts an entry for the log. */
export function noteEntry({ request, tx }: RecordWork): void {
  if (!request) return
  const attempt: unknown = Reflect.get(request, 'tx') ?? tx
  const count = counts.get(request)
  const entries = 1 + (count?.attempt === attempt ? (count?.entries ?? 0) : 0)
  counts.set(request, { attempt, entries })
  // Requests and jobs have a log.
  addLogFields(request as Context | JobContext, { entries })
}
