// Starts examples/blog, as built, with a few posts to look at when it has none.
import { fileURLToPath } from 'node:url'
import { explain } from '../dist/src/cli/support/explain.js'

process.chdir(fileURLToPath(new URL('../examples/blog', import.meta.url)))

try {
  await start()
} catch (error) {
  console.error(explain(error))
  process.exit(1)
}

async function start() {
  const { database } = await import('../examples/blog/dist/src/database.js')
  const { Post } = await import('../examples/blog/dist/src/models/post.js')
  const { Comment } = await import('../examples/blog/dist/src/models/comment.js')

  await database.open()
  await database.migrate()
  await database.transaction(async (tx) => {
    if ((await tx.count(Post)) > 0) return
    for (const number of [1, 2, 3]) {
      const post = tx.create(Post, {
        title: `Post ${number}`,
        description: 'Written by scripts/start-example.js.',
      })
      await tx.save(post)
      await tx.save(tx.create(Comment, { body: `A comment on post ${number}`, post_id: post.id }))
    }
  })
  await import('../examples/blog/dist/src/main.js')
}
