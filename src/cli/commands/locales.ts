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
      const missing = new Map(
        catalog.locales.toSorted().map((locale) => [locale, missingTexts(catalog, locale)]),
      )
      const print = printTo(out)
      for (const [locale, texts] of missing) {
        print(`${locale}: ${texts.length === 0 ? 'complete' : `${texts.length} missing`}`)
        if (texts.length > 0)
          print(
            table(
              undefined,
              texts.map(({ id, shown }) => ['', id, shown]),
            ),
          )
      }
      const unknown = unknownTexts(catalog, join(root, 'templates'))
      if (unknown.length > 0) {
        print(`templates: ${unknown.length} unknown`)
        print(
          table(
            undefined,
            unknown.map(({ id, place }) => ['', id, place]),
          ),
        )
      }
      const incomplete = [...missing].flatMap(([locale, texts]) => (texts.length > 0 ? [locale] : []))
      const places = [...incomplete, ...(unknown.length > 0 ? ['templates'] : [])]
      if (places.length === 0) return
      throw new CommandError(`Texts are missing in ${places.join(', ')}. Write them in the folder locales.`)
    })
}
