import { join } from 'node:path'
import { Command } from 'commander'
import { CommandError } from '../../command-errors.js'
import { Catalog, frameworkCatalog } from '../../translations/catalog.js'
import { missingTexts } from '../../translations/missing-texts.js'
import { enterApplication } from '../support/application-folder.js'
import { printTo, type Output } from '../support/output.js'
import { table } from '../support/table.js'

/**
 * `kit locales`: the missing texts of each language.
 *
 * @param folder the application's folder
 */
export function localesCommand(out: Output, folder: () => string = enterApplication): Command {
  return new Command('locales')
    .description(
      'Lists the missing texts of each language of the folder locales, with the text that pages show instead. The exit ' +
        'status is 1 if a text is missing.',
    )
    .addHelpText('after', '\nExample:\n  $ kit locales\n  $ kit generate locale de')
    .action(() => {
      const catalog = new Catalog(join(folder(), 'locales'), { base: frameworkCatalog() })
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
      const incomplete = [...missing].flatMap(([locale, texts]) => (texts.length > 0 ? [locale] : []))
      if (incomplete.length === 0) return
      throw new CommandError(
        `Texts are missing in ${incomplete.join(', ')}. Write them in the folder locales.`,
      )
    })
}
