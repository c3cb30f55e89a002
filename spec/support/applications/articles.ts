import { Exclude, Expose, Transform } from 'class-transformer'
import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  Table,
  TableIndex,
  type MigrationInterface,
  type QueryRunner,
  type Relation,
} from 'typeorm'
import {
  App,
  column,
  Database,
  Model,
  prefixIndex,
  primaryKey,
  timestamps,
  transaction,
  type AppOptions,
  type ResourceClass,
} from '../../../src/index.js'
import { columnTypes } from '../../../src/models/attributes/kinds.js'
import { newDatabase } from '../databases.js'
import { Site } from '../site.js'

export const states = ['draft', 'public', 'archived']

@Entity('writers')
export class Writer extends Model {
  @Column('varchar') name!: string

  @Exclude()
  @Column('varchar', { nullable: true })
  secret!: string | null

  @Expose()
  get initial(): string {
    return this.name.slice(0, 1)
  }
}

/** A model with columns of the kinds that lists filter and sort, and columns that are hidden in each way. */
@Entity('articles')
export class Article extends Model {
  @Column(columnTypes.string) title!: string
  @Column(columnTypes.text, { nullable: true }) body!: string | null
  @Column(columnTypes.enum, { enum: states }) state!: string
  @Column(columnTypes.int, { nullable: true }) votes!: number | null
  @Column(columnTypes.bigint) views!: string
  @Column(columnTypes.decimal, { precision: 10, scale: 2 }) price!: string
  @Column(columnTypes.bool) pinned!: boolean
  @Column(columnTypes.date, { nullable: true }) day!: string | null
  @Column(columnTypes.time, { nullable: true }) hour!: string | null
  @Column({ type: columnTypes.datetime, nullable: true }) published_at!: Date | null
  @Column(columnTypes.float, { nullable: true }) score!: number | null
  @Column(columnTypes.json, { nullable: true }) notes!: unknown
  @Column(columnTypes.uuid, { nullable: true }) writer_id!: string | null

  @ManyToOne(() => Writer)
  @JoinColumn({ name: 'writer_id' })
  writer?: Relation<Writer> | null

  @OneToMany(() => Remark, (remark) => remark.article)
  remarks?: Relation<Remark>[]

  @Exclude({ toPlainOnly: true })
  @ManyToOne(() => Writer)
  @JoinColumn({ name: 'reviewer_id' })
  reviewer?: Relation<Writer> | null

  @Column(columnTypes.uuid, { nullable: true }) reviewer_id!: string | null

  @Column(columnTypes.string, { nullable: true, select: false }) unselected!: string | null
  @Exclude()
  @Column(columnTypes.string, { nullable: true })
  excluded!: string | null
  @Exclude({ toPlainOnly: true })
  @Column(columnTypes.string, { nullable: true })
  written!: string | null
  @Expose({ groups: ['admin'] })
  @Column(columnTypes.string, { nullable: true })
  grouped!: string | null
  @Transform(({ value }: { value: unknown }) => (value === null ? null : '***'))
  @Column(columnTypes.string, { nullable: true })
  masked!: string | null
}

@Entity('remarks')
export class Remark extends Model {
  @Column('varchar') body!: string
  @Column('uuid') article_id!: string

  @ManyToOne(() => Article, (article) => article.remarks)
  @JoinColumn({ name: 'article_id' })
  article?: Relation<Article>
}

/** A model that excludes all columns but one. */
@Exclude()
@Entity('vaults')
export class Vault extends Model {
  @Expose() @Column('varchar') label!: string
  @Column('varchar') code!: string
}

/** A model that TypeORM must read, because it always loads a relation. */
@Entity('remarks', { synchronize: false })
export class EagerRemark extends Model {
  @Column('varchar') body!: string
  @Column('uuid') article_id!: string

  @ManyToOne(() => Article, { eager: true })
  @JoinColumn({ name: 'article_id' })
  article?: Relation<Article>
}

class CreateArticles1796000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    const nullable = { isNullable: true }
    const hidden = ['unselected', 'excluded', 'written', 'grouped', 'masked']
    const tables = {
      writers: [column(runner, 'name', 'string'), column(runner, 'secret', 'string', nullable)],
      articles: [
        column(runner, 'title', 'string'),
        column(runner, 'body', 'text', nullable),
        column(runner, 'state', 'enum', { enum: states }),
        column(runner, 'votes', 'int', nullable),
        column(runner, 'views', 'bigint'),
        column(runner, 'price', 'decimal', { precision: 10, scale: 2 }),
        column(runner, 'pinned', 'bool'),
        column(runner, 'day', 'date', nullable),
        column(runner, 'hour', 'time', nullable),
        column(runner, 'published_at', 'datetime', nullable),
        column(runner, 'score', 'float', nullable),
        column(runner, 'notes', 'json', nullable),
        column(runner, 'writer_id', 'uuid', nullable),
        column(runner, 'reviewer_id', 'uuid', nullable),
        ...hidden.map((name) => column(runner, name, 'string', nullable)),
      ],
      remarks: [column(runner, 'body', 'string'), column(runner, 'article_id', 'uuid')],
      vaults: [column(runner, 'label', 'string'), column(runner, 'code', 'string')],
    }
    for (const [name, columns] of Object.entries(tables)) {
      const all = [primaryKey(runner), ...columns, ...timestamps(runner)]
      await runner.createTable(new Table({ name, columns: all }))
    }
    await runner.createIndex(
      'articles',
      new TableIndex({ name: 'articles_title', columnNames: ['title', 'id'] }),
    )
    await runner.createIndex(
      'articles',
      new TableIndex({ name: 'articles_views', columnNames: ['views', 'id'] }),
    )
    await prefixIndex(runner, 'articles', 'title')
  }

  async down(runner: QueryRunner) {
    for (const table of ['vaults', 'remarks', 'articles', 'writers']) await runner.dropTable(table)
  }
}

/** An open, migrated database of articles. */
export async function openArticles(): Promise<Database> {
  const url = await newDatabase()
  const database = new Database(
    {
      test: { url },
      models: [Writer, Article, Remark, Vault, EagerRemark],
      migrations: [CreateArticles1796000000000],
    },
    'test',
  )
  await database.open()
  await database.migrate()
  return database
}

/** An article with a value in each column that requires one. */
export function newArticle(values: Partial<Article> = {}): Article {
  const defaults = { title: 'one', state: 'draft', views: '0', price: '0.00', pinned: false }
  return Object.assign(new Article(), defaults, values)
}

/** An application with resources, which uses a database. It is not started. */
export function articlesApp(database: Database, resources: ResourceClass[], options: AppOptions = {}): App {
  const app = new App({ secret: 'a secret of the specs', ...options })
  app.use(transaction(database))
  for (const resource of resources) app.resource(resource)
  return app
}

/** A site with resources. */
export function articlesSite(database: Database, ...resources: ResourceClass[]): Promise<Site> {
  return Site.open(articlesApp(database, resources))
}
