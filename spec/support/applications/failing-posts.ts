import { setTimeout } from 'node:timers/promises'
import { Column, Entity, Table, type MigrationInterface, type QueryRunner } from 'typeorm'
import {
  BaseResource,
  column,
  Model,
  Present,
  primaryKey,
  Resource,
  timestamps,
  type Context,
  type DatabaseConfig,
} from '../../../src/index.js'

@Entity('posts')
export class Post extends Model {
  @Column('varchar')
  @Present()
  title!: string
}

export class CreatePosts1795000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.createTable(
      new Table({
        name: 'posts',
        columns: [primaryKey(runner), column(runner, 'title', 'string'), ...timestamps(runner)],
      }),
    )
  }

  async down(runner: QueryRunner) {
    await runner.dropTable('posts')
  }
}

/** Posts whose creation takes a while, and fails after the insert if the title says so. */
@Resource('/posts')
export class PostsResource extends BaseResource {
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Post)
    return ctx.respond({ json: records })
  }

  override async show(ctx: Context): Promise<void> {
    return ctx.respond({ json: await ctx.find(Post, ctx.params['post_id']) })
  }

  override async create(ctx: Context): Promise<void> {
    const post = ctx.bind(new Post())
    await ctx.save(post)
    await setTimeout(2)
    if (post.title.startsWith('fails')) throw new Error('after the insert')
    return ctx.respond(201, { json: post })
  }
}

/** The database at this url. */
export function config(url: string): DatabaseConfig {
  return { test: { url, acquireTimeout: 60_000 }, models: [Post], migrations: [CreatePosts1795000000000] }
}
