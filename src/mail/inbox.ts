/** A mail as it is sent. */
export interface Letter {
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

/** The number of letters that are kept. */
const most = 100

/** The newest letters of this process, in specs and in development. */
export class Inbox {
  private letters: Letter[] = []
  private count = 0

  add(letter: Omit<Letter, 'number'>): void {
    this.count += 1
    this.letters = [...this.letters, { ...letter, number: this.count }].slice(-most)
  }

  /** All letters, the oldest first. */
  get all(): readonly Letter[] {
    return this.letters
  }

  /** The newest letter. */
  get last(): Letter | undefined {
    return this.letters.at(-1)
  }

  /** Forgets all letters: call it before a test. */
  clear(): void {
    this.letters = []
  }
}

/** The letters that the application has sent: the newest 100 in specs and in development, none elsewhere. */
export const mails = new Inbox()
