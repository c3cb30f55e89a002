/** Names that differ from the second part of the media type in capitals. */
const NAMES: Partial<Record<string, string>> = {
  'image/webp': 'WebP',
  'image/svg+xml': 'SVG',
  'audio/mpeg': 'MP3',
  'video/webm': 'WebM',
  'audio/ogg': 'Ogg',
  'text/plain': 'text',
}

/** The name of a media type that visitors know: JPEG of `image/jpeg`. */
export function mediaTypeName(type: string): string {
  return NAMES[type] ?? type.replace(/^.*\//, '').toUpperCase()
}
