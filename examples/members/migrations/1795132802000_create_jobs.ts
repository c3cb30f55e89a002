import { jobTables } from 'resource-kit/jobs'
import type { MigrationInterface, QueryRunner } from 'typeorm'

export class CreateJobs1795132802000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    for (const table of jobTables(runner)) await runner.createTable(table)
  }

  async down(runner: QueryRunner) {
    for (const table of jobTables(runner).toReversed()) await runner.dropTable(table)
  }
}
