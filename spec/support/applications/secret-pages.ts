import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../temporary-folder.js'

/** Creates a folder with templates and translations of a page and a mail that show the local `secret`. */
export function secretPages(): string {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'mails'))
  writeFileSync(join(folder, 'page.pug'), 'p= secret\n')
  writeFileSync(join(folder, 'broken.pug'), 'p= secret.no.such\n')
  writeFileSync(join(folder, 'mails/welcome.pug'), 'p= secret\n')
  writeFileSync(
    join(folder, 'mails.en-us.yaml'),
    "- id: mail.welcome.subject\n  translation: 'Welcome, {{secret}}'\n",
  )
  return folder
}
