import { Command } from 'commander'
import { enterApplication } from '../support/application-folder.js'
import { buildWhenStale } from '../support/compilation.js'

/** `kit build`: the application compiled, where it is not. */
export function buildCommand(): Command {
  return new Command('build')
    .description(
      'Compiles the application into dist/, unless what is there is up to date. What runs meanwhile keeps running, and ' +
        'where the application does not compile, dist/ stays as it was.',
    )
    .addHelpText('after', '\nExample:\n  $ kit build && node dist/src/main.js')
    .action(async () => {
      await buildWhenStale(enterApplication())
    })
}
