import { jobQueue } from 'resource-kit/jobs'
import { database } from './database.js'
import { DeleteOldPosts } from './jobs/delete_old_posts.js'

/** The background jobs of the application, and their queues in the order of priority. */
export const jobs = jobQueue(database, { jobs: [DeleteOldPosts], queues: ['default'] })
