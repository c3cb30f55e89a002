import { column, primaryKey, timestamps } from 'resource-kit'
import { Table, type MigrationInterface, type QueryRunner } from 'typeorm'

export class CreatePosts1795132800000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.createTable(
      new Table({
        name: 'posts',
        columns: [
          primaryKey(runner),
          column(runner, 'title', 'string'),
          column(runner, 'description', 'text', { isNullable: true }),
          ...timestamps(runner),
        ],
      }),
    )
  }

  async down(runner: QueryRunner) {
    await runner.dropTable('posts')
  }
}
