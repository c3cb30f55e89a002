import type { Files } from './files.js'

/** Where the rows and the store differ. */
export interface StoreDifferences {
  /** The files that have no bytes. */
  missing: { id: string; key: string; filename: string }[]
  /** The keys with bytes that no file has. */
  unknown: string[]
}

/** Compares the rows with the store. Files that are being uploaded have a row first, and their bytes later. */
export async function checkStore({ table, byteStore }: Files): Promise<StoreDifferences> {
  const expected = new Map((await table.findKept()).map((row) => [row.key, row]))
  const unnamed: string[] = []
  for await (const key of byteStore.list()) if (!expected.delete(key)) unnamed.push(key)
  // Rows that were inserted in the meantime, and those of files that no record has.
  const known = await table.findKeys(unnamed)
  return {
    missing: [...expected.values()].map(({ id, key, filename }) => ({ id, key, filename })),
    unknown: unnamed.filter((key) => !known.has(key)),
  }
}
