import { Buffer } from 'node:buffer'

/** The first bytes of each type, by which files are recognized. */
const HEADS: Partial<Record<string, string>> = {
  // One black pixel each.
  'image/png':
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M/wHwAEBgIApD5fRAAAAABJRU5ErkJggg==',
  'image/gif': 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  'image/jpeg':
    '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AN//Z',
  'image/webp': 'UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==',
  'application/pdf': Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64'),
  'application/zip': 'UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==',
  'video/mp4': Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isom', 'latin1').toString('base64'),
  'audio/mpeg': Buffer.from('ID3\x03\0\0\0\0\0\0', 'latin1').toString('base64'),
}

/** The options of `sampleFile`. */
export interface SampleFileOptions {
  /** The size in bytes (that of the smallest file of its type). */
  size?: number
  /** The filename (`sample` with the ending of its type). */
  name?: string
}

/**
 * Creates a file with valid content, for forms in specs.
 *
 * @param type the media type: `image/png`, `image/jpeg`, `image/gif`, `image/webp`, `application/pdf`, `application/zip`, `video/mp4`,
 *   `audio/mpeg`, or `text/plain` for anything else
 * @example await client.post('/items', { form: { name: 'Lamp', photo: sampleFile() } })
 */
export function sampleFile(type = 'image/png', { size, name }: SampleFileOptions = {}): File {
  const head = HEADS[type]
  const content = head === undefined ? Buffer.from('A sample.\n') : Buffer.from(head, 'base64')
  const missing = Math.max(0, (size ?? 0) - content.length)
  const padding = Buffer.alloc(missing, head === undefined ? 'A sample. ' : 0)
  const ending = type === 'text/plain' ? 'txt' : (type.split('/')[1] ?? 'bin')
  return new File([content, padding], name ?? `sample.${ending}`, { type })
}
