import { Job, Schedule, type JobContext } from 'resource-kit/jobs'
import { LessThan } from 'typeorm'
import { Post } from '../models/post.js'

// kit generate job delete_old_posts days:int --schedule '0 3 * * *' --time-zone Europe/Berlin
/** Deletes the posts that nobody has changed for some days, every night. */
@Job()
@Schedule('0 3 * * *', { timeZone: 'Europe/Berlin', arguments: { days: 365 } })
export class DeleteOldPosts {
  async perform({ days }: { days: number }, job: JobContext) {
    const before = new Date(Date.now() - days * 86_400_000)
    const { affected } = await job.tx.delete(Post, { updated_at: LessThan(before) })
    job.log.info({ posts: affected }, 'old posts were deleted')
  }
}
