import { column, primaryKey, sessionsTable, timestamps } from 'resource-kit'
import { rateLimitsTable } from 'resource-kit/auth'
import { Table, type MigrationInterface, type QueryRunner } from 'typeorm'

export class CreateUsers1795132800000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.createTable(
      new Table({
        name: 'users',
        columns: [
          primaryKey(runner),
          column(runner, 'email', 'string', { isUnique: true }),
          column(runner, 'password_hash', 'string'),
          ...timestamps(runner),
        ],
      }),
    )
    await runner.createTable(sessionsTable(runner))
    await runner.createTable(rateLimitsTable(runner))
  }

  async down(runner: QueryRunner) {
    const tables = ['rate_limits', 'sessions', 'users']
    for (const table of tables) await runner.dropTable(table)
  }
}
