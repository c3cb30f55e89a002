import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { CommandError } from '../../command-errors.js'

/**
 * Runs npm in a folder.
 *
 * @throws CommandError when it fails; npm has then printed the reason on the terminal
 */
export async function npm(
  args: string[],
  folder: string,
  output: 'inherit' | 'ignore' = 'inherit',
): Promise<void> {
  const child = spawn('npm', args, {
    cwd: folder,
    stdio: ['ignore', output, 'inherit'],
    // npm is a batch file on Windows.
    shell: process.platform === 'win32',
  })
  const [status] = (await once(child, 'close')) as [number | null]
  if (status !== 0) throw new CommandError(`\`npm ${args[0]}\` failed in ${folder}. See its output above.`)
}
