import { join } from 'node:path'
import { Command } from 'commander'
import { placeOf } from '../../database/engines/create-drop.js'
import { currentEnvironment } from '../../common/environment.js'
import { enterApplication, manifestOf } from '../support/application-folder.js'
import { loadApp, loadDatabase } from '../support/application-modules.js'
import { loadEnvFile } from '../support/env-file.js'
import { isStale } from '../support/compilation.js'
import { toJson } from '../support/output.js'
import { table } from '../support/table.js'

/** `kit info`: prints versions and settings of the application. */
export function infoCommand(): Command {
  return new Command('info')
    .description(
      'Prints the versions, environment, address, database and number of routes of the application. Does not open the database.',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  $ kit info\n  $ GO_ENV=production kit info --json')
    .action(info)
}

async function info({ json }: { json?: boolean }): Promise<void> {
  const root = enterApplication()
  const wasStale = isStale(root)
  const { name = 'unnamed', version = 'none' } = manifestOf(root) ?? {}
  const database = await loadDatabase()
  const app = await loadApp()
  const resources = app.routes.flatMap(({ resource }) => (resource ? [resource.itemPath] : []))
  const facts = {
    application: name,
    version,
    folder: root,
    resource_kit: manifestOf(join(import.meta.dirname, '../../../..'))?.version ?? 'unknown',
    node: process.version,
    environment: currentEnvironment(),
    variables: loadEnvFile(root) ?? 'no .env was read',
    address: app.address,
    engine: database.options.type,
    database: placeOf(database),
    routes: app.routes.length,
    resources: new Set(resources).size,
    build: wasStale ? 'was out of date and has been rebuilt' : 'up to date',
  }
  const rows = Object.entries(facts).map(([fact, value]) => [fact.replaceAll('_', ' '), String(value)])
  console.log(json ? toJson(facts) : table(undefined, rows))
}
