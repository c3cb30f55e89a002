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
const maxLetters = 100

/** The newest letters of this process, in specs and in development. */
export class Inbox {
  private letters: Letter[] = []
  private count = 0

  add(letter: Omit<Letter, 'number'>): void {
    this.count += 1
    this.letters = [...this.letters, { ...letter, number: this.count }].slice(-maxLetters)
  }

  /** All letters, the oldest first. */
  get all(): readonly Letter[] {
    return this.letters
  }

  /** The newest letter. */
  get last(): Letter | undefined {
    return this.letters.at(-1)
  }

  /** Removes all letters. Call it before each test. */
  clear(): void {
    this.letters = []
  }
}

/** The newest 100 letters that the application has sent, in specs and in development. It is empty in other environments. */
export const mails = new Inbox()
