import { setTimeout as delay } from 'node:timers/promises'
import type { Next } from 'koa'
import type { Transporter } from 'nodemailer'
import {
  beforeCommit,
  channels,
  configuredBaseUrl,
  hasTransaction,
  localAddress,
  measure,
  PerRequest,
} from '../extension.js'
import { type Context, DeclarationError, type Extension, type JobContext, type Queue } from '../index.js'
import { mails, type MailMessage } from './inbox.js'
import { toText, unescapeEntities } from './text.js'

/** The options of `mailer()`. */
export interface MailerOptions {
  /** The sender: `Shop <no-reply@shop.example>` (`MAIL_FROM`). */
  from?: string
  /** The server: `smtp://user:password@mail.example:587` (`MAIL_URL`). */
  url?: string
  /**
   * The queue of `jobQueue`. A mail is then a job of the request's transaction: it is sent if the transaction
   * is committed, and sending is retried if the mail server fails.
   */
  jobs?: Queue
}

/** A mail to one person. */
export interface Mail {
  /** One address: `ada@example.com` or `Ada <ada@example.com>`. */
  to: string
  /**
   * The template `templates/mails/<name>.pug`. The subject is the translation `mail.<name>.subject`. The
   * plain text is made from the HTML, unless there is a template `<name>.text.pug`.
   */
  name: string
  /** The variables of the template, and the values in the subject. */
  locals?: Record<string, unknown>
  /** The language: by default, that of the request. */
  locale?: string
  /**
   * Whether the queue of `mailer({ jobs })` sends the mail (yes). Otherwise, the mail is sent after the
   * commit. Use false if only existing accounts get the mail, because adding its job takes measurable time,
   * or if it contains a token, because its job stores the mail in the database.
   */
  queued?: boolean
}

/** One address, with or without a name. A comma would add recipients, and a line break would add headers. */
const recipient =
  /^(?:(?:"[^"\r\n]*"|[^<>,;:@"\r\n]*) ?<[^\s<>,;:@"]+@[^\s<>,;:@"]+>|[^\s<>,;:@"]+@[^\s<>,;:@"]+)$/

/** The name of the job that sends a mail. */
const jobName = 'deliver_mail'

/** A mail as its job reads it. The date is that of the sending. */
type StoredMail = Omit<MailMessage, 'number' | 'date'>

/** The mails of a request or a job. */
interface Delivery {
  mailer: Mailer
  /** The functions that send the mails of a request without a transaction, after its handler succeeded. */
  senders: (() => void)[]
}

const deliveries = new PerRequest<Delivery>()

/**
 * Lets the handlers below it send mails. Production needs `MAIL_URL` and `BASE_URL`. In development, mails
 * are shown at `/kit/mails` and are only sent if there is a `MAIL_URL`. In specs, `mails` collects them after
 * the commit, also those of the queue.
 *
 * @example app.extend(mailer({ from: 'Shop <no-reply@shop.example>' }))
 * @throws DeclarationError at the start, when production lacks a setting; BadBaseUrl when `BASE_URL` is
 *   malformed
 */
export function mailer(options: MailerOptions = {}): Extension {
  const office = new Mailer(options)

  async function mailer(ctx: Context, next: Next): Promise<void> {
    const delivery: Delivery = { mailer: office, senders: [] }
    deliveries.set(ctx, delivery)
    await next()
    if (ctx.status < 400) for (const send of delivery.senders) send()
  }

  return {
    name: 'mailer',
    middleware: mailer,
    aroundJob(job, run) {
      deliveries.set(job, { mailer: office, senders: [] })
      return run()
    },
    start: (_logger, env) => office.start(env),
    finish: (deadline) => office.finish(deadline),
    stop: () => office.stop(),
  }
}

/** Sends the mails of an application. */
class Mailer {
  readonly jobs: Queue | undefined
  private readonly url: string | undefined
  private readonly from: string
  /** The mails that are being sent without the queue. */
  private readonly pending = new Set<Promise<void>>()
  private transport: Transporter | undefined
  private usesInbox = true
  /** Whether the commit collects mails instead of their jobs: a spec passes with and without the queue. */
  private isTest = false
  /** The deadline of the shutdown. */
  private end = new Date(0)

  constructor(private readonly options: MailerOptions) {
    this.url = options.url ?? process.env['MAIL_URL']
    this.from = options.from ?? process.env['MAIL_FROM'] ?? 'no-reply@localhost'
    this.jobs = options.jobs
    this.jobs?.define(jobName, (args) => this.send(args as StoredMail))
  }

  /**
   * Returns a function that renders and sends a mail after the response. Otherwise, the time of the response
   * would reveal that there is a mail, for example because an address has an account. Outside of production,
   * `prepare` itself renders the mail, so that an error in the template is an error of the request.
   */
  prepare(ctx: Context, mail: Mail): () => void {
    const message = this.usesInbox ? renderMail(ctx, mail, this.from) : undefined
    return () => {
      if (message) mails.add(message)
      if (!this.transport) return
      const render = () => message ?? renderMail(ctx, mail, this.from)
      const work = deliver(ctx, mail.name, render, this.transport).then(
        () => ctx.log.info({ mail: mail.name }, `the mail ${mail.name} was sent`),
        (err: unknown) => ctx.log.error({ err, mail: mail.name }, `the mail ${mail.name} was not sent`),
      )
      this.pending.add(work)
      void work.finally(() => this.pending.delete(work))
    }
  }

  /** Renders a mail just before the commit, and enqueues its job. */
  enqueue(ctx: Context, mail: Mail): void {
    beforeCommit(ctx, () => {
      const message = renderMail(ctx, mail, this.from)
      if (this.isTest) ctx.afterCommit(() => mails.add(message))
      return this.jobs?.push(ctx, jobName, message)
    })
  }

  /** Sends a mail of the queue. If the server rejects it permanently (from 500), it is not retried. */
  private async send(mail: StoredMail): Promise<void> {
    if (this.usesInbox && !this.isTest) mails.add({ ...mail, date: new Date() })
    if (!this.transport) return
    try {
      await transmit(mail, this.transport)
    } catch (error) {
      const { responseCode = 0 } = Object(error) as { responseCode?: number }
      throw responseCode >= 500 ? Object.assign(Object(error), { isPermanent: true }) : error
    }
  }

  async start(env: string): Promise<void> {
    // Throws if `BASE_URL` is malformed, which the first mail would report otherwise.
    absoluteUrl('')
    if (env === 'production') requireSettings(this.url)
    this.usesInbox = env !== 'production'
    this.isTest = env === 'test'
    // Specs send no mails, unless they pass the `url` option: `MAIL_URL` is ignored.
    const server = env === 'test' ? this.options.url : this.url
    checkSettings(server, this.from)
    // nodemailer is only loaded by applications that send mails.
    if (server) this.transport = (await import('nodemailer')).createTransport(server)
  }

  async finish(deadline: Date): Promise<void> {
    this.end = deadline
    await Promise.all(this.pending)
  }

  async stop(): Promise<void> {
    // The requests that were pending at the beginning of the shutdown may have sent mails, too.
    const left = Math.max(0, this.end.getTime() - Date.now())
    await Promise.race([Promise.all(this.pending), delay(left, undefined, { ref: false })])
    this.transport?.close()
    this.transport = undefined
  }
}

/**
 * Sends a mail after the commit of the request's transaction and after the response, or by the queue of
 * `mailer({ jobs })`. A request that is rolled back sends nothing. Without the queue, a failure of the mail
 * server is only logged. So is an error of the template in production, because it renders after the response.
 *
 * @example sendMail(ctx, { to: user.email, name: 'welcome', locals: { url: absoluteUrl('/') } })
 * @throws DeclarationError when `mail.to` is not one address, or without `mailer()`
 */
export function sendMail(requestOrJob: Context | JobContext, mail: Mail): void {
  // A job has the methods of a context that mails use.
  const ctx = requestOrJob as Context
  const delivery = deliveries.get(ctx)
  if (!delivery) throw new DeclarationError('sendMail() needs app.extend(mailer()) above the route.')
  if (!recipient.test(mail.to)) {
    throw new DeclarationError(
      'The recipient of a mail is one address: ada@example.com or Ada <ada@example.com>.',
    )
  }
  // The mail is rendered later, in the language of now.
  const localizedMail = { ...mail, locale: mail.locale ?? ctx.locale }
  const { mailer, senders } = delivery
  if (mailer.jobs && mail.queued !== false) return mailer.enqueue(ctx, localizedMail)
  const send = mailer.prepare(ctx, localizedMail)
  if (hasTransaction(ctx)) ctx.afterCommit(send)
  else senders.push(send)
}

/** Sends a mail after the response of its request. A job has no response, so its mail is sent at once. */
async function deliver(
  { res }: { res?: Context['res'] },
  name: string,
  render: () => Omit<MailMessage, 'number'>,
  transport: Transporter,
): Promise<void> {
  if (res && !res.closed) await new Promise((resolve) => res.once('close', resolve))
  await transmit({ name }, transport, render)
}

/** Sends a mail now, and publishes how long that took. */
async function transmit(
  mail: { name: string } & Partial<StoredMail>,
  transport: Transporter,
  render: () => Partial<StoredMail> = () => mail,
): Promise<void> {
  const end = measure(channels.mail, 'name', mail.name)
  try {
    const { to, from, subject, html, text } = render()
    await transport.sendMail({ to, from, subject, html, text })
    end?.()
  } catch (error) {
    end?.(error)
    throw error
  }
}

/** Renders a mail in its language, without changing the language of the request. */
function renderMail(ctx: Context, mail: Mail, from: string): Omit<MailMessage, 'number'> {
  const { to, name, locals = {}, locale = ctx.locale } = mail
  const view: Context = Object.assign(Object.create(ctx), { locale })
  const subject = view.t(`mail.${name}.subject`, locals)
  const values = { ...locals, subject }
  const html = view.renderToString(`mails/${name}`, values)
  const plain = `mails/${name}.text`
  const text = view.hasTemplate(plain) ? unescapeEntities(view.renderToString(plain, values)) : toText(html)
  return { name, to, from, subject, html, text, locale: view.locale, date: new Date() }
}

/** @throws DeclarationError without the settings that production needs */
function requireSettings(url: string | undefined): void {
  if (!process.env['BASE_URL']) {
    throw new DeclarationError(
      'Mails need BASE_URL in production, the address in their links. Set it: BASE_URL=https://shop.example.',
    )
  }
  if (!url) {
    throw new DeclarationError(
      'Mails need MAIL_URL in production, the mail server. Set it: MAIL_URL=smtp://user:password@mail.example:587.',
    )
  }
}

/** @throws DeclarationError when the mail server or the sender is malformed, without the password */
function checkSettings(url: string | undefined, from: string): void {
  if (url && !(/^smtps?:/i.test(url) && URL.canParse(url) && new URL(url).hostname))
    throw new DeclarationError(
      'The url of the mail server (MAIL_URL) must be smtp://user:password@mail.example:587, or smtps:// with the port 465.',
    )
  if (!recipient.test(from))
    throw new DeclarationError(
      `The sender of mails (MAIL_FROM) is ${JSON.stringify(from)}. Use one address: Shop <no-reply@shop.example>.`,
    )
}

/**
 * Returns the URL of a path in a mail: `https://shop.example/session/new`. The URL begins with `BASE_URL`, or
 * without it with the address that `kit dev` or `kit start` prints: `http://127.0.0.1:3000`. It never begins
 * with the host of a request, because a client can forge that.
 *
 * @throws BadBaseUrl when `BASE_URL` is malformed
 */
export function absoluteUrl(path: string): string {
  return (configuredBaseUrl() ?? localAddress()) + path
}
