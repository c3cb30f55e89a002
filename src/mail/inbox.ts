import { type Context, HttpError, type Scope } from '../index.js'

/** A rendered mail, as the inbox stores it. */
export interface MailMessage {
  /** Its number in this process, from 1. */
  number: number
  /** The name of its template: `password_reset`. */
  name: string
  to: string
  from: string
  subject: string
  html: string
  text: string
  /** The language of the mail. */
  locale: string
  date: Date
}

/** The maximum number of stored messages. */
const maxMessages = 100

/** The newest messages of this process, in specs and in development. */
export class Inbox {
  private messages: MailMessage[] = []
  private count = 0

  add(message: Omit<MailMessage, 'number'>): void {
    this.count += 1
    this.messages = [...this.messages, { ...message, number: this.count }].slice(-maxMessages)
  }

  /** All messages, the oldest first. */
  get all(): readonly MailMessage[] {
    return this.messages
  }

  /** The newest message. */
  get last(): MailMessage | undefined {
    return this.messages.at(-1)
  }

  /** Removes all messages. Call it before each test. */
  clear(): void {
    this.messages = []
  }
}

/** The newest 100 messages that were sent, in specs and in development. Empty elsewhere. */
export const mails = new Inbox()

/** The content security policy of a shown mail: it runs and loads nothing. Its links may leave the frame. */
const contentPolicy =
  "sandbox allow-top-navigation-by-user-activation; default-src 'none'; style-src 'unsafe-inline'; img-src data:"

/**
 * Shows the newest mails of this process at `/kit/mails`, in development only. In other environments, it does
 * nothing.
 *
 * @example mailInbox(app)
 */
export function mailInbox(app: Scope & { readonly env: string }): void {
  if (app.env !== 'development') return
  app.get('/kit/mails', list, { name: 'kitMailsPath' })
  app.get('/kit/mails/{number}', show, { name: 'kitMailPath' })
  app.get('/kit/mails/{number}/content', content, { name: 'kitMailContentPath' })
}

function list(ctx: Context): void {
  ctx.render('mails_inbox', { messages: mails.all.toReversed() })
}

function show(ctx: Context): void {
  ctx.render('mails_message', { message: findMessage(ctx) })
}

function content(ctx: Context): void {
  ctx.set('Content-Security-Policy', contentPolicy)
  ctx.type = 'html'
  ctx.body = `<base target="_top">${findMessage(ctx).html}`
}

/** @throws HttpError (404) */
function findMessage(ctx: Context): MailMessage {
  const message = mails.all.find(({ number }) => String(number) === ctx.params['number'])
  if (!message) throw new HttpError(404, 'The mail does not exist, or the server was restarted since.')
  return message
}
