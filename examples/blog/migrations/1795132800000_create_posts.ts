import { column, prefixIndex, primaryKey, timestamps } from 'resource-kit'
import { Table, type MigrationInterface, type QueryRunner } from 'typeorm'

// kit destroy and kit generate read the next line.
// kit generate resource post title description:nulls.text --filter title,created_at --sort title,created_at --search title,description --spec full

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
          // Sorts the list of posts by title, and equal ones by id.
          { name: 'posts_title', columnNames: ['title', 'id'] },
          // Sorts the list of posts by created_at, and equal ones by id.
          { name: 'posts_created_at', columnNames: ['created_at', 'id'] },
        ],
      }),
    )
    // The filter title.prefix finds texts by their beginning.
    await prefixIndex(runner, 'posts', 'title')
  }

  async down(runner: QueryRunner) {
    await runner.dropTable('posts')
  }
}
