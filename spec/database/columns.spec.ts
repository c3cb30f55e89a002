import { expect } from 'chai'
import type { QueryRunner } from 'typeorm'
import type { AttributeKind } from '../../src/models/attributes/attributes.js'
import { column, primaryKey, timestamps } from '../../src/database/columns.js'
import { columnTypes } from '../../src/models/attributes/kinds.js'
import type { Database } from '../../src/database/database.js'
import { newPost, openBlogDatabase } from '../support/applications/blog-database.js'
import { engine, type Engine } from '../support/engine.js'

const letters = { charset: 'utf8mb4', collation: 'utf8mb4_nopad_bin' }
const money = { precision: 10, scale: 2 }

/** The columns that a migration creates. */
const columns: Record<Engine, Record<AttributeKind, object>> = {
  sqlite: {
    string: { type: 'varchar' },
    text: { type: 'text' },
    int: { type: 'integer' },
    bigint: { type: 'bigint' },
    float: { type: 'double precision' },
    decimal: { type: 'decimal', ...money },
    bool: { type: 'boolean' },
    date: { type: 'date' },
    time: { type: 'time' },
    datetime: { type: 'datetime' },
    uuid: { type: 'varchar' },
    json: { type: 'json' },
    enum: { type: 'varchar' },
  },
  postgres: {
    string: { type: 'character varying' },
    text: { type: 'text' },
    int: { type: 'integer' },
    bigint: { type: 'bigint' },
    float: { type: 'double precision' },
    decimal: { type: 'numeric', ...money },
    bool: { type: 'boolean' },
    date: { type: 'date' },
    time: { type: 'time without time zone' },
    datetime: { type: 'timestamp with time zone', precision: 3 },
    uuid: { type: 'uuid' },
    json: { type: 'json' },
    enum: { type: 'enum' },
  },
  mariadb: {
    string: { type: 'varchar', ...letters },
    text: { type: 'longtext', ...letters },
    int: { type: 'int' },
    bigint: { type: 'bigint' },
    float: { type: 'double' },
    decimal: { type: 'decimal', ...money },
    bool: { type: 'tinyint' },
    date: { type: 'date' },
    time: { type: 'time', precision: 6 },
    datetime: { type: 'datetime', precision: 3 },
    uuid: { type: 'uuid' },
    json: { type: 'json' },
    enum: { type: 'enum' },
  },
}

/** The seconds since 1970 of a datetime. */
const secondsOf: Record<Engine, string> = {
  sqlite: 'unixepoch(created_at)',
  postgres: 'floor(extract(epoch FROM created_at))',
  mariadb: 'floor(unix_timestamp(created_at))',
}

describe('Columns of migrations', () => {
  let database: Database
  let runner: QueryRunner
  const of = columns[engine]

  beforeEach(async () => {
    database = await openBlogDatabase()
    runner = database.createQueryRunner()
  })
  afterEach(async () => {
    await runner.release()
    await database.close()
  })

  it('equal the columns of the models', async () => {
    const { upQueries } = await database.driver.createSchemaBuilder().log()
    // Keys have other names, for which TypeORM rebuilds the table of comments on SQLite; posts needs no change.
    const queries = upQueries.map(({ query }) => query).filter((query) => /["`]posts["`]/.test(query))
    expect(queries.filter((query) => !/comments|INDEX `/.test(query))).to.deep.equal([])
  })

  for (const kind of Object.keys(columnTypes) as AttributeKind[]) {
    it(`have the type of ${engine} for ${kind}`, () => {
      expect(column(runner, 'a', kind)).to.deep.equal({ name: 'a', ...of[kind] })
    })
  }

  it('have the options of the migration', () => {
    expect(column(runner, 'price', 'decimal', { isNullable: true, scale: 4 })).to.deep.equal({
      name: 'price',
      ...of.decimal,
      scale: 4,
      isNullable: true,
    })
  })

  it('contain datetimes in UTC', async () => {
    const { created_at } = await database.manager.save(newPost('one'))
    const [row] = await database.query(`SELECT ${secondsOf[engine]} AS seconds FROM posts`)
    expect(Number(row.seconds)).to.equal(Math.floor(created_at.getTime() / 1000))
  })

  it('include an id and two dates in every table', () => {
    expect(primaryKey(runner)).to.deep.equal({ name: 'id', ...of.uuid, isPrimary: true })
    for (const [index, name] of ['created_at', 'updated_at'].entries()) {
      expect(timestamps(runner)[index]).to.include({ name, ...of.datetime })
    }
  })
})
