import { open, type FileHandle } from 'node:fs/promises'

/** The type of a file, and the size of an image, as its bytes show them. */
export interface Content {
  /** The media type. */
  type: string
  /** The size of an image in pixels; null for other files. */
  width: number | null
  height: number | null
}

/** The number of bytes in which a signature is looked for. */
const headSize = 4096

/** The first bytes of each type, as text in Latin-1, and where they are. */
const SIGNATURES: readonly (readonly [type: string, bytes: string, offset?: number])[] = [
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
  ['image/webp', 'WEBP', 8],
  ['image/avif', 'ftypavif', 4],
  ['image/avif', 'ftypavis', 4],
  ['image/heic', 'ftypheic', 4],
  ['image/tiff', 'II*\0'],
  ['image/tiff', 'MM\0*'],
  ['image/bmp', 'BM'],
  ['application/pdf', '%PDF-'],
  ['video/quicktime', 'ftypqt  ', 4],
  ['video/mp4', 'ftyp', 4],
  ['video/webm', '\x1a\x45\xdf\xa3'],
  ['audio/mpeg', 'ID3'],
  ['audio/mpeg', '\xff\xfb'],
  ['audio/mpeg', '\xff\xf3'],
  ['audio/ogg', 'OggS'],
  ['audio/wav', 'WAVE', 8],
  ['audio/flac', 'fLaC'],
  ['application/zip', 'PK\x03\x04'],
  ['application/zip', 'PK\x05\x06'],
  ['application/gzip', '\x1f\x8b'],
  ['application/x-7z-compressed', '7z\xbc\xaf\x27\x1c'],
]

const office = 'application/vnd.openxmlformats-officedocument'

/** The names in the first bytes of an archive by which a document is recognized. */
const DOCUMENTS: readonly (readonly [type: string, name: string])[] = [
  [`${office}.wordprocessingml.document`, 'word/'],
  [`${office}.spreadsheetml.sheet`, 'xl/'],
  [`${office}.presentationml.presentation`, 'ppt/'],
  ['application/vnd.oasis.opendocument.text', 'mimetypeapplication/vnd.oasis.opendocument.text'],
  [
    'application/vnd.oasis.opendocument.spreadsheet',
    'mimetypeapplication/vnd.oasis.opendocument.spreadsheet',
  ],
  ['application/epub+zip', 'mimetypeapplication/epub+zip'],
]

/** Text that browsers would run or render. */
const MARKUP: readonly (readonly [type: string, pattern: RegExp])[] = [
  ['image/svg+xml', /<svg[\s>]/i],
  ['text/html', /<(!doctype html|html|head|body|script|iframe)[\s>]/i],
  ['application/xml', /^\s*<\?xml\s/],
]

/** Reads the type of a file, and the size of an image, from its content. The name and the type that a client sends do not count. */
export async function readContent(path: string): Promise<Content> {
  const file = await open(path)
  try {
    const head = await read(file, 0, headSize)
    const type = signatureOf(head) ?? (await textType(file, head)) ?? 'application/octet-stream'
    const size = await SIZES[type]?.(head, file)
    const isImage = size && size.width > 0 && size.height > 0
    // An image without a readable size could not be limited by it.
    if (SIZES[type] && !isImage) return { type: 'application/octet-stream', width: null, height: null }
    return { type, width: size?.width ?? null, height: size?.height ?? null }
  } finally {
    await file.close()
  }
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

function signatureOf(head: Buffer): string | undefined {
  const [type] =
    SIGNATURES.find(([, bytes, offset = 0]) => {
      const end = offset + bytes.length
      return head.length >= end && head.toString('latin1', offset, end) === bytes
    }) ?? []
  if (type !== 'application/zip') return type
  const text = head.toString('latin1')
  return DOCUMENTS.find(([, name]) => text.includes(name))?.[0] ?? type
}

/** The type of text: valid UTF-8 without control characters; undefined for anything else. */
async function textType(file: FileHandle, head: Buffer): Promise<string | undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    let position = 0
    for (let piece = head; piece.length > 0; piece = await read(file, position, 65_536)) {
      // oxlint-disable-next-line no-control-regex
      if (/[\0-\x08\x0b\x0e-\x1f\x7f]/.test(decoder.decode(piece, { stream: true }))) return undefined
      position += piece.length
    }
    decoder.decode()
  } catch {
    return undefined
  }
  const text = head.toString()
  return MARKUP.find(([, pattern]) => pattern.test(text))?.[0] ?? 'text/plain'
}

interface Size {
  width: number
  height: number
}

type SizeReader = (head: Buffer, file: FileHandle) => Size | undefined | Promise<Size | undefined>

/** The readers of image sizes, by type. */
const SIZES: Partial<Record<string, SizeReader>> = {
  'image/png': (head) =>
    head.length < 24 ? undefined : { width: head.readUInt32BE(16), height: head.readUInt32BE(20) },
  'image/gif': (head) =>
    head.length < 10 ? undefined : { width: head.readUInt16LE(6), height: head.readUInt16LE(8) },
  'image/webp': webpSize,
  'image/jpeg': jpegSize,
}

function webpSize(head: Buffer): Size | undefined {
  if (head.length < 30) return undefined
  const format = head.toString('latin1', 12, 16)
  if (format === 'VP8X') return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 }
  if (format === 'VP8 ')
    return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff }
  const bits = head.readUInt32LE(21)
  return format === 'VP8L' ? { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 } : undefined
}

/** The most segments before the frame of a JPEG. Photos have a few dozen. */
const maxSegments = 200

/** Skips the segments of a JPEG, such as its metadata, up to the one with the size of its frame. */
async function jpegSize(_head: Buffer, file: FileHandle): Promise<Size | undefined> {
  let position = 2
  for (let count = 0; count < maxSegments; count++) {
    const segment = await read(file, position, 9)
    if (segment.length < 9 || segment[0] !== 0xff) return undefined
    const marker = segment.readUInt8(1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { height: segment.readUInt16BE(5), width: segment.readUInt16BE(7) }
    // Bytes may fill the space before a marker.
    position += marker === 0xff ? 1 : 2 + segment.readUInt16BE(2)
  }
  return undefined
}
