import { column, primaryKey, timestamps } from 'resource-kit'
import { Table, type MigrationInterface, type QueryRunner } from 'typeorm'

// kit destroy and kit generate read the next line.
// kit generate resource comment body:text --parent post --spec full

export class CreateComments1795132801000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.createTable(
      new Table({
        name: 'comments',
        columns: [
          primaryKey(runner),
          column(runner, 'body', 'text'),
          column(runner, 'post_id', 'uuid'),
          ...timestamps(runner),
        ],
        foreignKeys: [
          {
            columnNames: ['post_id'],
            referencedTableName: 'posts',
            referencedColumnNames: ['id'],
            onDelete: 'CASCADE',
          },
        ],
        indices: [
          // Finds the comments of a post in the order of the list.
          { name: 'comments_post_id', columnNames: ['post_id', 'id'] },
        ],
      }),
    )
  }

  async down(runner: QueryRunner) {
    await runner.dropTable('comments')
  }
}
