import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { HttpError } from '../errors.js'

/** The separators of cells, the preferred one first. */
const separators = [',', ';', '\t'] as const

type Separator = (typeof separators)[number]

/** One line of a file, as a spreadsheet counts them: a cell with a line break is in one line. */
export interface Line {
  line: number
  cells: readonly string[]
}

/** A file that cannot be read as CSV. */
export class UnreadableFile extends Error {
  /** @param rule the broken rule: `csv.encoding` or `csv.quote` */
  constructor(
    readonly line: number,
    readonly rule: string,
  ) {
    super(`Line ${line}: ${rule}`)
  }
}

/** A CSV file, which is read in pieces and as often as needed. */
export class CsvFile {
  private constructor(
    private readonly path: string,
    readonly separator: Separator,
    private readonly maxLines: number,
  ) {}

  /**
   * Opens a file. Its separator is the one with which its heading has the most known columns.
   *
   * @param isKnown whether a heading is the name of a column
   * @param maxLines the maximum number of lines below the heading
   */
  static async open(path: string, isKnown: (heading: string) => boolean, maxLines: number): Promise<CsvFile> {
    let [best, most]: [Separator, number] = [',', 0]
    for (const separator of separators) {
      const count = (await headingOf(path, separator)).filter(isKnown).length
      if (count > most) [best, most] = [separator, count]
    }
    return new CsvFile(path, best, maxLines)
  }

  /**
   * The lines of the file, the heading included. Those without any text are left out.
   *
   * @throws UnreadableFile when it is not CSV; HttpError (413) when it has too many lines, or ten times as many without any text
   */
  async *lines(): AsyncGenerator<Line> {
    let count = 0
    for await (const { line, cells } of parseLines(this.path, this.separator)) {
      const hasText = cells.some((cell) => cell !== '')
      if (hasText) count += 1
      if (count > this.maxLines + 1 || line > 10 * this.maxLines + 1)
        throw new HttpError(
          413,
          `The file has more than ${this.maxLines} lines. Import it in several pieces.`,
        )
      if (hasText) yield { line, cells }
    }
  }
}

/** The cells of the first line; none if it cannot be read, which `lines` reports. */
async function headingOf(path: string, separator: Separator): Promise<readonly string[]> {
  const first = await parseLines(path, separator)
    .next()
    .catch(() => undefined)
  return first?.value?.cells ?? []
}

async function* parseLines(path: string, delimiter: Separator): AsyncGenerator<Line, undefined> {
  let [parsed, line] = [0, 0]
  const on_record = (cells: string[]): string[] => {
    parsed += 1
    // Else csv-parse builds an error, which takes long, for each line with another number of cells than the first one.
    Object.assign(parser.info, { records: 0 })
    return cells
  }
  const record_delimiter = ['\r\n', '\n', '\r']
  const parser = parse({ delimiter, record_delimiter, relax_column_count: true, on_record })
  const source = Readable.from(texts(path))
  source.once('error', (error) => parser.destroy(error))
  try {
    for await (const cells of source.pipe(parser) as AsyncIterable<string[]>)
      yield { line: (line += 1), cells }
  } catch (error) {
    throw error instanceof CsvError ? new UnreadableFile(parsed + 1, 'csv.quote') : error
  } finally {
    source.destroy()
  }
}

/**
 * The text of a file in UTF-8, or in UTF-16 with a byte order mark.
 *
 * @throws UnreadableFile when it has another encoding, which is not guessed
 */
async function* texts(path: string): AsyncGenerator<string, undefined> {
  let decoder: InstanceType<typeof TextDecoder> | undefined
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      decoder ??= new TextDecoder(encodingOf(chunk), { fatal: true })
      yield decoder.decode(chunk, { stream: true })
    }
    yield decoder?.decode() ?? ''
  } catch (error) {
    if (Reflect.get(Object(error), 'code') !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error
    throw new UnreadableFile(await lineOfOtherBytes(path), 'csv.encoding')
  }
}

function encodingOf(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8'
}

/** The number of the first line that is not UTF-8. */
async function lineOfOtherBytes(path: string): Promise<number> {
  const bytes = await readFile(path)
  let line = 1
  let begin = 0
  let isQuoted = false
  for (const [index, byte] of bytes.entries()) {
    if (byte === 0x22) isQuoted = !isQuoted
    if (byte !== 0x0a || isQuoted) continue
    if (!isUtf8(bytes.subarray(begin, index))) return line
    begin = index + 1
    line += 1
  }
  return line
}
