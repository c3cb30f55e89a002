import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { runFolder } from './run.js'

/** Creates an empty folder. It is deleted at the end of the run. */
export function temporaryFolder(): string {
  return mkdtempSync(join(runFolder(), 'folder-'))
}

/** Calls `work` with the path of a new folder, which is deleted afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = temporaryFolder()
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
