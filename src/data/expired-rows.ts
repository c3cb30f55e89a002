import type { Database } from './database.js'

/** The number of rows that are deleted at a time, so that the request that does it is not delayed. */
const most = 500

/** Deletes the expired rows of a table from time to time. */
export class ExpiredRows {
  private deletedAt = 0

  /**
   * @param column the column with the time at which a row expires, in milliseconds since 1970
   * @param interval the milliseconds between two clean-ups
   */
  constructor(
    private readonly database: Database,
    private readonly table: string,
    private readonly column: string,
    private readonly interval: number,
  ) {}

  /** Deletes some expired rows if it is time to. A failure does not affect the request. */
  async delete(now: number): Promise<void> {
    if (now < this.deletedAt + this.interval) return
    this.deletedAt = now
    const count = await this.deleteSome(now).catch(() => 0)
    // There may be more, which are deleted the next time.
    if (count === most) this.deletedAt = 0
  }

  private async deleteSome(now: number): Promise<number> {
    const expired = await this.database
      .createQueryBuilder()
      .select('expired.id', 'id')
      .from(this.table, 'expired')
      .where(`expired.${this.column} <= :now`, { now })
      .limit(most)
      .getRawMany<{ id: string }>()
    const ids = expired.map(({ id }) => id)
    if (ids.length === 0) return 0
    const query = this.database.createQueryBuilder().delete().from(this.table)
    // The condition is repeated, because another request may have renewed one of them in the meantime.
    await query.where(`id IN (:...ids) AND ${this.column} <= :now`, { ids, now }).execute()
    return ids.length
  }
}
