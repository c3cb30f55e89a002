import { join } from 'node:path'

/** The folder with the framework's own templates, translations, style sheet and list of common passwords. */
export const assets = join(import.meta.dirname, '../../../assets')
