import { Command } from 'commander'
import { enterApplication } from '../support/application-folder.js'
import { buildWhenStale } from '../support/compilation.js'

/** `kit build`: compiles the application and its specs. */
export function buildCommand(): Command {
  return new Command('build')
    .description(
      'Compiles the application and its specs into dist/ if dist/ is out of date. A running application is not affected. If ' +
        'the code does not compile, dist/ is left unchanged. Other commands compile only the application, without specs.',
    )
    .addHelpText('after', '\nExample:\n  $ kit build && node dist/src/main.js')
    .action(async () => {
      await buildWhenStale(enterApplication(), 'everything')
    })
}
