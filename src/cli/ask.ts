import { createInterface } from 'node:readline/promises'
import { NoTerminal } from '../errors.js'

/**
 * Asks a question on the terminal. Yes is `y` or `yes`, anything else is no.
 *
 * @throws NoTerminal when there is none
 */
export async function ask(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new NoTerminal(question)
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
