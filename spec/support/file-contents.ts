/** A PNG of one color with its own size in pixels. Its content differs with the seed. */
export function png(width = 2, height = 2, seed = 0): Buffer {
  const head = Buffer.alloc(33)
  head.write('\x89PNG\r\n\x1a\n', 0, 'latin1')
  head.writeUInt32BE(13, 8)
  head.write('IHDR', 12, 'latin1')
  head.writeUInt32BE(width, 16)
  head.writeUInt32BE(height, 20)
  head.writeUInt32BE(seed, 29)
  return head
}

/** A form with files: each is a name and content. */
export function formWith(
  fields: Record<string, string | readonly string[]>,
  files: ReadonlyArray<readonly [field: string, name: string, content: Uint8Array | string]>,
): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) for (const one of [value].flat()) form.append(name, one)
  for (const [field, name, content] of files)
    form.append(field, new Blob([content as Uint8Array<ArrayBuffer>], { type: 'text/html' }), name)
  return form
}
