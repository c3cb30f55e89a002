import { memoize } from '../../common/memoize.js'
import { json } from './json.js'
import { xml } from './xml.js'

/** The formats of data, by name. */
export const dataFormats = { json, xml }

/** The name of a format of responses: that of pages, or of a format of data. */
export type FormatName = 'html' | keyof typeof dataFormats

/** The formats of responses. The first ones are preferred if a client accepts several equally. */
export const formats = ['html', ...Object.keys(dataFormats)] as readonly FormatName[]

/** Returns the format of a content type: JSON for `application/json` and `application/problem+json`. */
export const formatOfType = memoize((header): FormatName | undefined => {
  const type = header.split(';', 1).join().trim().toLowerCase()
  return formats.find((name) => name !== 'html' && (type.endsWith(`/${name}`) || type.endsWith(`+${name}`)))
})
