import { Command } from 'commander'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { CommandError } from '../../command-errors.js'
import { isPlainObject } from '../../common/plain-object.js'
import type { DeclaredDocument } from '../../openapi/declared-document.js'
import { enterApplication, manifestOf, parseJson } from '../support/application-folder.js'
import { loadApp } from '../support/application-modules.js'
import { checkDeclarations } from '../support/declarations.js'

interface Options {
  out?: string
  check?: boolean
  path?: string
}

/** `kit openapi`: prints the OpenAPI document of the application, writes it, or checks a written one. */
export function openapiCommand(): Command {
  return new Command('openapi')
    .description(
      'Prints the OpenAPI document of the application. Lists the routes that it cannot describe on standard error. Does not open the ' +
        'database.',
    )
    .option('--out <file>', 'write the document to this file')
    .option('--check', 'exit with status 1 if the file of --out differs, and print the paths that differ')
    .option(
      '--path <path>',
      'print the document that is served at this path, or at this host and path, if there are several',
    )
    .addHelpText(
      'after',
      '\nExample:\n  $ kit openapi --out openapi.json\n  $ kit openapi --out openapi.json --check',
    )
    .action(openapi)
}

async function openapi({ out, check = false, path }: Options): Promise<void> {
  if (check && out === undefined) throw new CommandError('--check needs --out, the file that it compares.')
  const app = await loadApp()
  await checkDeclarations(app)
  const { buildDocument, documentsOf, undescribedRoutes } = await import('../../openapi/document.js')
  const { toText } = await import('../../openapi/serve.js')
  const { name = 'application', version = '0' } = manifestOf(enterApplication()) ?? {}
  const declared = choose(documentsOf(app.declarations, { title: name, version }), path)
  const text = toText(buildDocument(app.declarations, declared).document)
  for (const line of undescribedRoutes(app.declarations)) console.error(line)
  if (out === undefined) console.log(text.trimEnd())
  else if (check) compare(out, text)
  else if (existsSync(dirname(out))) writeFileSync(out, text)
  else throw new CommandError(`The folder of ${out} does not exist. Create it, or choose another file.`)
}

/** Returns the document at a path, or at a host and a path: `one.example.com/openapi.json`. */
function choose(documents: readonly DeclaredDocument[], path: string | undefined): DeclaredDocument {
  const names = documents.map(nameOf)
  const named = documents.filter((one) => path === nameOf(one))
  const found = named.length > 0 ? named : documents.filter((one) => path === undefined || path === one.path)
  const [only, another] = found
  if (!only) throw new CommandError(`There is no document at ${path}. Choose one of ${names.join(', ')}.`)
  if (another)
    throw new CommandError(`There are several documents. Choose one with --path: ${names.join(', ')}.`)
  return only
}

/** The path of a document, after its host if it has one. */
function nameOf({ host = '', path }: DeclaredDocument): string {
  return host + path
}

function compare(file: string, text: string): void {
  const advice = `\`kit openapi --out ${file}\` writes it`
  if (!existsSync(file)) throw new CommandError(`${file} does not exist. ${advice}.`)
  const written = readFileSync(file, 'utf8')
  if (written === text) return
  const lines = differences(parseJson(written) ?? {}, JSON.parse(text))
  throw new CommandError([`${file} differs from the application. ${advice} again.`, ...lines].join('\n  '))
}

/** Returns the parts of two documents that differ, by up to three names: `changed: paths /posts get`. */
function differences(before: unknown, after: unknown, place: readonly string[] = []): string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  if (before === undefined) return [`added: ${place.join(' ')}`]
  if (after === undefined) return [`removed: ${place.join(' ')}`]
  if (place.length === 3 || !isPlainObject(before) || !isPlainObject(after))
    return [`changed: ${place.join(' ')}`]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names.flatMap((name) => differences(before[name], after[name], [...place, name]))
}
