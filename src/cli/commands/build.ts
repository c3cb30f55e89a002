import { Command } from 'commander'
import { enterApplication } from '../support/application-folder.js'
import { buildWhenStale } from '../support/compilation.js'

/** `kit build`: compiles the application and its specs. */
export function buildCommand(): Command {
  return new Command('build')
    .description(
      'Compiles the application and its specs into dist/, unless what is there is up to date. What runs meanwhile keeps ' +
        'running. If the code does not compile, dist/ stays as it was. Other commands compile the application alone.',
    )
    .addHelpText('after', '\nExample:\n  $ kit build && node dist/src/main.js')
    .action(async () => {
      await buildWhenStale(enterApplication(), 'everything')
    })
}
