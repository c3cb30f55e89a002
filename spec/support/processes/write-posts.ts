/**
 * A process that writes to a database, for specs that need a second one.
 *
 * - `half URL COUNT PREFIX`: COUNT transactions at once, of which every second one throws after its insert
 * - `hold URL`: a transaction that inserts, prints "holding" and never ends
 * - `open-as-nobody URL...`: opens each of the databases as a user without any rights, and prints the errors
 * - `migrate URL MILLISECONDS`: migrates, with a migration that prints "migrating" and then takes this long, and prints the
 *   names of the migrations as JSON
 */
import 'reflect-metadata'
import { setTimeout as delay } from 'node:timers/promises'
import { Table, type MigrationInterface, type QueryRunner } from 'typeorm'
import { Database } from '../../../src/database/database.js'
import { blogDatabase, CreateBlog1700000000000, newPost } from '../applications/blog-database.js'

const [task, url = '', count = '0', prefix = ''] = process.argv.slice(2)

class Slow1700000000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    console.log('migrating')
    await delay(Number(count))
    await runner.createTable(new Table({ name: 'slow', columns: [{ name: 'id', type: 'int' }] }))
  }

  async down(): Promise<void> {}
}

const database =
  task === 'migrate'
    ? new Database({ test: { url }, migrations: [CreateBlog1700000000000, Slow1700000000003] }, 'test')
    : blogDatabase(url)
if (task !== 'open-as-nobody') await database.open()

switch (task) {
  case 'half':
    await Promise.allSettled(Array.from({ length: Number(count) }, (_, index) => write(index)))
    break
  case 'hold':
    await database.transaction(async (tx) => {
      await tx.save(newPost('never committed'))
      console.log('holding')
      await delay(60_000)
    })
    break
  case 'open-as-nobody':
    if (process.getuid?.() === 0) process.setuid?.(65_534)
    for (const url of process.argv.slice(3))
      await blogDatabase(url)
        .open()
        .catch((error: Error) => console.log(error.message))
    break
  case 'migrate':
    console.log(JSON.stringify(await database.migrate()))
    break
  default:
    throw new Error(`unknown task ${task}`)
}
await database.close()

function write(index: number): Promise<void> {
  return database.transaction(async (tx) => {
    await tx.save(newPost(`${prefix} ${index}`))
    await delay(2)
    if (index % 2 === 1) throw new Error('half of them fail')
  })
}
