import { column, prefixIndex, primaryKey, timestamps } from 'resource-kit'
import { Table, type MigrationInterface, type QueryRunner } from 'typeorm'

// kit generate resource post title description:nulls.Text --filter title,created_at --sort title,created_at --search title,description --spec full
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
        indices: [
          { name: 'posts_title', columnNames: ['title', 'id'] },
          { name: 'posts_created_at', columnNames: ['created_at', 'id'] },
        ],
      }),
    )
    await prefixIndex(runner, 'posts', 'title')
  }

  async down(runner: QueryRunner) {
    await runner.dropTable('posts')
  }
}
