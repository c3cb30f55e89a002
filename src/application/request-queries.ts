import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { Context } from '../context.js'
import { channels, type RenderMessage } from '../common/channels.js'
import type { StatementMessage } from '../database/queries/publish.js'
import { destroyRecord, saveRecord } from '../records/save.js'
import { loggerOf } from '../logging/request-logger.js'

/** A line that runs the same query at least this often is reported. */
const minRepeats = 6

/** The lines that have been reported, so that each is reported once. */
const reported = new Set<string>()

const suggestion =
  "Read the records of the whole list at once: ctx.load(posts, 'comments'), `include`, or one query with In(ids)."

/** The request or job that the current code belongs to. Only set in development. */
const requests = new AsyncLocalStorage<RequestQueries>()

/** The functions whose queries a loop may repeat, because they write or call a handler for each record. */
const writers = [saveRecord.name, destroyRecord.name, 'callForRecord']

/** Whether the process has subscribed to the channels, which it does once. */
let isListening = false

/** The queries of one request or job in development, for the log, warnings and `Server-Timing`. */
export class RequestQueries {
  private count = 0
  /** Milliseconds of all statements. */
  private ms = 0
  /** Milliseconds of all templates. */
  private viewMs = 0
  /** The messages of SELECT statements, by their SQL. */
  private readonly selects = new Map<string, StatementMessage[]>()

  constructor(private readonly ctx: Context) {
    if (isListening) return
    isListening = true
    for (const { name } of [channels.query, channels.render])
      // The cast is correct, because only the framework publishes on these channels.
      subscribe(name, (message) => requests.getStore()?.add(message as StatementMessage | RenderMessage))
  }

  /** Runs work, and collects its queries. */
  collect<T>(work: () => Promise<T>): Promise<T> {
    return requests.run(this, work)
  }

  /**
   * Runs the request, and reports its times to the browser by the `Server-Timing` header.
   *
   * @param started when the request began, as `performance.now()`
   */
  async run(started: number, next: () => Promise<unknown>): Promise<void> {
    await this.collect(next)
    if (this.ctx.headerSent) return
    const times = [
      this.count > 0 && `db;dur=${rounded(this.ms)};desc="${this.countText}"`,
      this.viewMs > 0 && `view;dur=${rounded(this.viewMs)}`,
      `total;dur=${rounded(performance.now() - started)}`,
    ]
    this.ctx.append('Server-Timing', times.filter(Boolean).join(', '))
  }

  /** The fields about queries in the log's line of a request or job. */
  get fields(): { queries: number; db_ms: number } {
    return { queries: this.count, db_ms: rounded(this.ms) }
  }

  /**
   * Adds `this.fields` to the fields of the request's line. Returns the end of the line:
   * ` 12 ms (22 queries, 6.1 ms)`.
   *
   * @param ms the milliseconds of the whole request
   */
  summary(ms: number, fields: object): string {
    Object.assign(fields, this.fields)
    return ` ${rounded(ms)} ms${this.count > 0 ? ` (${this.countText}, ${rounded(this.ms)} ms)` : ''}`
  }

  /** Warns of each line that has repeated a query. `ctx.save` and `ctx.destroy` do not count. */
  warn(request: string): void {
    for (const [sql, messages] of this.selects) {
      if (messages.length < minRepeats) continue
      const sites = messages.flatMap(({ site = [] }) => site)
      const places = sites.flatMap((it) =>
        writers.some((name) => it.functions.includes(name)) ? [] : it.place,
      )
      for (const place of new Set(places)) {
        const count = places.filter((it) => it === place).length
        if (count < minRepeats || reported.has(place)) continue
        reported.add(place)
        const text = `${count} times in ${request}, at ${place}: ${sql}\n${suggestion}`
        loggerOf(this.ctx)?.warn({ place, count, sql }, text)
      }
    }
  }

  private get countText(): string {
    return this.count === 1 ? '1 query' : `${this.count} queries`
  }

  private add(message: StatementMessage | RenderMessage): void {
    if ('template' in message) return void (this.viewMs += message.ms)
    const { sql, ms, rows, isQuery } = message
    this.ms += ms
    if (isQuery) this.count += 1
    if (/^SELECT\b/i.test(sql)) {
      // Lists of different length belong to the same query.
      const text = sql.replaceAll(/\bIN \((?:\?|\$\d+)(?:, ?(?:\?|\$\d+))*\)/gi, 'IN (...)')
      const same = this.selects.get(text)
      if (same) same.push(message)
      else this.selects.set(text, [message])
    }
    const log = loggerOf(this.ctx)
    if (log?.isLevelEnabled('debug')) log.debug({ ms: rounded(ms), rows, place: message.place }, sql)
  }
}

/** Rounds milliseconds, below ten to one digit after the point. */
function rounded(ms: number): number {
  return Number(ms.toFixed(ms < 9.95 ? 1 : 0))
}
