import { Router } from '@koa/router'
import Koa from 'koa'
import { koaBody } from 'koa-body'
import { DataSource, EntitySchema } from 'typeorm'

/** Koa, @koa/router, koa-body and TypeORM with a single route: the least that an application of these packages loads. */
const Post = new EntitySchema({
  name: 'Post',
  tableName: 'posts',
  columns: {
    id: { type: 'varchar', primary: true },
    title: { type: 'varchar' },
    description: { type: 'text', nullable: true },
  },
})
const database = process.env['DATABASE_URL']?.replace(/^sqlite:/, '') ?? ''
const dataSource = new DataSource({ type: 'better-sqlite3', database, entities: [Post] })
const app = new Koa()
const router = new Router()
router.get('/posts', async (ctx) => {
  ctx.body = await dataSource.getRepository(Post).find({ take: 20 })
})
app.use(koaBody())
app.use(router.routes())
await dataSource.initialize()
app.listen(Number(process.env['PORT']), '127.0.0.1')
