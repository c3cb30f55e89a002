import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { NoTerminal } from '../../command-errors.js'
import type { Output } from './output.js'

/**
 * Asks one question on the terminal.
 *
 * @throws NoTerminal when there is none
 */
export async function ask(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new NoTerminal(question)
  const questions = new Questions(process.stdin, process.stdout)
  try {
    return await questions.confirm(question)
  } finally {
    await questions.close()
  }
}

/** Asks questions that are answered with y or n, from a terminal or from a pipe. Without an answer it is no. */
export class Questions {
  private answers: AsyncIterator<string> | undefined

  constructor(
    private readonly input: Readable,
    private readonly out: Output,
  ) {}

  /** Asks until the answer is y, yes, n, no, or nothing more comes. */
  async confirm(question: string): Promise<boolean> {
    this.answers ??= createInterface({ input: this.input })[Symbol.asyncIterator]()
    for (;;) {
      this.out.write(`${question} (y/n) `)
      const { value, done } = await this.answers.next()
      if (done) {
        this.out.write('no\n')
        return false
      }
      if (/^\s*y(es)?\s*$/i.test(value)) return true
      if (/^\s*no?\s*$/i.test(value)) return false
    }
  }

  /** Leaves the input alone, so that the process can end. */
  async close(): Promise<void> {
    await this.answers?.return?.()
    this.input.pause()
  }
}
