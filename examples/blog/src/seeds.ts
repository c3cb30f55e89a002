import { Comment } from './models/comment.js'
import { Post } from './models/post.js'
import { database } from './database.js'

/** Fills an empty database with a few records to look at. */
export async function seed() {
  await database.transaction(async (tx) => {
    if ((await tx.count(Post)) > 0) return
    for (const number of [1, 2, 3]) {
      const post = await tx.save(
        tx.create(Post, { title: `Post ${number}`, description: 'Written by src/seeds.ts.' }),
      )
      await tx.save(tx.create(Comment, { body: `A comment on post ${number}`, post_id: post.id }))
    }
  })
}
