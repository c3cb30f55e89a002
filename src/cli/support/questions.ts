import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { CommandError } from '../../command-errors.js'
import { escapeControl } from '../../common/escape-control.js'
import type { Output } from './output.js'

/**
 * Asks a single yes-or-no question on the terminal. For several questions, use `Questions`.
 *
 * @throws CommandError when the standard input isn't a terminal
 */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    throw new CommandError(`"${question}" needs an answer, but there is no terminal. Pass -y to answer yes.`)
  }
  const questions = new Questions(process.stdin, process.stdout)
  try {
    return await questions.confirm(question)
  } finally {
    await questions.close()
  }
}

/** Asks yes-or-no questions on a terminal or a pipe. */
export class Questions {
  private answers: AsyncIterator<string> | undefined

  constructor(
    private readonly input: Readable & { isTTY?: boolean },
    private readonly out: Output,
  ) {}

  /**
   * Asks until the answer is y, yes, n or no.
   *
   * @throws CommandError when the input ends before that
   */
  async confirm(question: string): Promise<boolean> {
    this.answers ??= createInterface({ input: this.input })[Symbol.asyncIterator]()
    for (;;) {
      this.out.write(`${escapeControl(question, '\n')} (y/n) `)
      const { value, done } = await this.answers.next()
      // A terminal echoes the input with its line break.
      if (!this.input.isTTY || done) this.out.write(`${value ?? ''}\n`)
      if (done) {
        throw new CommandError(
          'The input ended before it contained an answer to every question, so nothing was deleted. Answer y or n, or pass -y.',
        )
      }
      if (/^\s*y(es)?\s*$/i.test(value)) return true
      if (/^\s*no?\s*$/i.test(value)) return false
    }
  }

  /** Stops reading the input, so that the process can exit. */
  async close(): Promise<void> {
    await this.answers?.return?.()
    this.input.pause()
  }
}
