import type { Logger } from 'pino'
import { declarationsOf, referenceOf } from './loading.js'
import type { Files } from './files.js'
import type { FileRow } from './stored-file.js'

/** The files that a sweep has deleted. */
export interface Swept {
  files: number
  bytes: number
}

/** The rows that are read at a time. */
const batch = 500

/** The milliseconds between two searches for files whose record was deleted without them. */
const day = 24 * 60 * 60 * 1000

/**
 * Deletes files that no record has. Killed at any time, the next sweep continues; several sweeps at once do no harm. A file that
 * anything in the database refers to is never deleted, because the database rejects it.
 */
export class Sweep {
  private searchedAt = 0

  constructor(private readonly files: Files) {}

  /** @param searches whether it also looks for files whose record was deleted without them (once a day) */
  async run(logger?: Pick<Logger, 'info' | 'error'>, searches = false): Promise<Swept> {
    const { table } = this.files
    await this.files.open()
    if (searches || table.now() - this.searchedAt >= day) {
      const metadatas = table.database.entityMetadatas
      await table.releaseForgotten(
        metadatas.flatMap((metadata) => declarationsOf(metadata).map((it) => referenceOf(metadata, it))),
      )
      this.searchedAt = table.now()
    }
    const swept = { files: 0, bytes: 0 }
    // Those whose bytes could not be removed wait for the next sweep.
    const failed: string[] = []
    for (;;) {
      const rows = await table.findExpired(batch, failed)
      for (const row of rows) {
        const isDone = await this.delete(row, swept).catch((err: unknown) => {
          logger?.error({ err, file: row.id, key: row.key }, 'a file that has expired could not be deleted')
          return false
        })
        if (!isDone) failed.push(row.id)
      }
      if (rows.length < batch) break
    }
    if (swept.files > 0) logger?.info(swept, 'deleted files that no record has')
    return swept
  }

  /** Deletes a file after its variants. Returns false if another sweep has begun to do so. */
  private async delete(row: FileRow, swept: Swept): Promise<boolean> {
    const { table, byteStore } = this.files
    for (const variant of row.original_id === null ? await table.findVariants(row.id) : [])
      await this.delete(variant, swept)
    const id = await table.detach(row)
    if (id === 'used') {
      await table.markUsed(row.id)
      return true
    }
    if (id === undefined) return false
    await byteStore.remove(row.key)
    await table.delete(id)
    swept.files += 1
    swept.bytes += row.byte_size
    return true
  }
}
