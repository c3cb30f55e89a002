import { column, primaryKey, timestamps } from 'resource-kit'
import { Table, type MigrationInterface, type QueryRunner } from 'typeorm'

// kit destroy and kit generate read the next line.
// kit generate resource post title body:nulls.text --owner user --locking

export class CreatePosts1795132801000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.createTable(
      new Table({
        name: 'posts',
        columns: [
          primaryKey(runner),
          column(runner, 'title', 'string'),
          column(runner, 'body', 'text', { isNullable: true }),
          column(runner, 'lock_version', 'int', { default: '1' }),
          column(runner, 'user_id', 'uuid'),
          ...timestamps(runner),
        ],
        foreignKeys: [
          {
            columnNames: ['user_id'],
            referencedTableName: 'users',
            referencedColumnNames: ['id'],
            onDelete: 'CASCADE',
          },
        ],
        indices: [
          // Finds the posts of a user in the order of the list.
          { name: 'posts_user_id', columnNames: ['user_id', 'id'] },
        ],
      }),
    )
  }

  async down(runner: QueryRunner) {
    await runner.dropTable('posts')
  }
}
