import { join } from 'node:path'
import { Command } from 'commander'
import { CommandError } from '../../command-errors.js'
import { Catalog, frameworkCatalog } from '../../translations/catalog.js'
import { missingTexts, unknownTexts } from '../../translations/missing-texts.js'
import { enterApplication } from '../support/application-folder.js'
import { printTo, type Output } from '../support/output.js'
import { table } from '../support/table.js'

/**
 * `kit locales`: the missing texts of each language, and the unknown texts of templates.
 *
 * @param folder the application's folder
 */
export function localesCommand(out: Output, folder: () => string = enterApplication): Command {
  return new Command('locales')
    .description(
      'Lists the missing texts of each language of the folder locales, with the text that pages show instead, and the ' +
        'calls of t in templates with an id that no language has. The exit status is 1 if a text is missing.',
    )
    .addHelpText('after', '\nExample:\n  $ kit locales\n  $ kit generate locale de')
    .action(() => {
      const root = folder()
      const catalog = new Catalog(join(root, 'locales'), { base: frameworkCatalog() })
      const print = printTo(out)
      const places: string[] = []
      const report = (place: string, rows: readonly string[][], problem: string) => {
        print(`${place}: ${rows.length === 0 ? 'complete' : `${rows.length} ${problem}`}`)
        if (rows.length === 0) return
        // An empty column indents the others.
        const cells = rows.map((row) => ['', ...row])
        print(table(undefined, cells))
        places.push(place)
      }
      for (const locale of catalog.locales.toSorted())
        report(locale, missingTexts(catalog, locale), 'missing')
      const unknown = unknownTexts(catalog, join(root, 'templates'))
      if (unknown.length > 0) report('templates', unknown, 'unknown')
      if (places.length === 0) return
      throw new CommandError(`Texts are missing in ${places.join(', ')}. Write them in the folder locales.`)
    })
}
