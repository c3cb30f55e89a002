/** A mail as it is sent. */
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

/** The number of messages that are kept. */
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

/** The newest 100 messages that the application has sent, in specs and in development. It is empty in other environments. */
export const mails = new Inbox()
