import { expect } from 'chai'
import { EntityNotFoundError, QueryFailedError } from 'typeorm'
import { explainDatabaseError } from '../../src/database/database-errors.js'
import { HttpError, RecordNotFound, ValidationErrors } from '../../src/errors.js'
import { Post } from '../support/applications/blog-database.js'

interface Case {
  engine: string
  code: string
  errno?: number
  message: string
  query?: string
  detail?: string
  column?: string
  status: number
  messages?: Record<string, string[]>
}

const taken = { title: ['Title has already been taken.'] }
const missing = { post_id: ['Post does not exist.'] }
const referred = { base: ['The record is referred to by another record.'] }
const blank = { title: ['Title cannot be blank.'] }

const CASES: Case[] = [
  {
    engine: 'SQLite',
    code: 'SQLITE_CONSTRAINT_UNIQUE',
    message: 'UNIQUE constraint failed: posts.title',
    status: 409,
    messages: taken,
  },
  {
    engine: 'SQLite',
    code: 'SQLITE_CONSTRAINT_UNIQUE',
    message: 'UNIQUE constraint failed: comments.post_id, comments.title',
    status: 409,
    messages: taken,
  },
  {
    engine: 'SQLite',
    code: 'SQLITE_CONSTRAINT_NOTNULL',
    message: 'NOT NULL constraint failed: posts.title',
    status: 422,
    messages: blank,
  },
  {
    engine: 'SQLite',
    code: 'SQLITE_CONSTRAINT_FOREIGNKEY',
    message: 'FOREIGN KEY constraint failed',
    status: 422,
    messages: { base: ['The record does not exist.'] },
  },
  {
    engine: 'SQLite',
    code: 'SQLITE_CONSTRAINT_FOREIGNKEY',
    message: 'FOREIGN KEY constraint failed',
    query: 'DELETE FROM posts',
    status: 409,
    messages: referred,
  },
  { engine: 'SQLite', code: 'SQLITE_FULL', message: 'database or disk is full', status: 503 },
  { engine: 'SQLite', code: 'SQLITE_IOERR_WRITE', message: 'disk I/O error', status: 503 },
  { engine: 'SQLite', code: 'SQLITE_BUSY_SNAPSHOT', message: 'database is locked', status: 503 },
  {
    engine: 'PostgreSQL',
    code: '23505',
    message: 'duplicate key value',
    detail: 'Key (title)=(x) already exists.',
    status: 409,
    messages: taken,
  },
  {
    engine: 'PostgreSQL',
    code: '23503',
    message: 'violates foreign key',
    detail: 'Key (post_id)=(x) is not present in table "posts".',
    status: 422,
    messages: missing,
  },
  {
    engine: 'PostgreSQL',
    code: '23503',
    message: 'violates foreign key',
    detail: 'Key (id)=(x) is still referenced from table "comments".',
    status: 409,
    messages: referred,
  },
  {
    engine: 'PostgreSQL',
    code: '23502',
    message: 'null value',
    column: 'title',
    status: 422,
    messages: blank,
  },
  {
    engine: 'PostgreSQL',
    code: '22001',
    message: 'value too long for type character varying(80)',
    status: 422,
    messages: { base: ['The record is too long.'] },
  },
  { engine: 'PostgreSQL', code: '22003', message: 'integer out of range', status: 422 },
  { engine: 'PostgreSQL', code: '22P02', message: 'invalid input syntax for type uuid', status: 422 },
  { engine: 'PostgreSQL', code: '40001', message: 'could not serialize access', status: 503 },
  { engine: 'PostgreSQL', code: '40P01', message: 'deadlock detected', status: 503 },
  { engine: 'PostgreSQL', code: '57P01', message: 'terminating connection', status: 503 },
  {
    engine: 'MariaDB',
    code: 'ER_DUP_ENTRY',
    message: "Duplicate entry 'x' for key 'index_posts_on_title'",
    status: 409,
  },
  {
    engine: 'MariaDB',
    code: 'ER_NO_REFERENCED_ROW_2',
    message:
      'Cannot add or update a child row: a foreign key constraint fails (`blog`.`comments`, CONSTRAINT `FK_1` FOREIGN KEY (`post_id`) REFERENCES `posts` (`id`))',
    status: 422,
    messages: missing,
  },
  {
    engine: 'MariaDB',
    code: 'ER_ROW_IS_REFERENCED_2',
    message: 'Cannot delete or update a parent row: ... FOREIGN KEY (`post_id`)',
    status: 409,
    messages: referred,
  },
  {
    engine: 'MariaDB',
    code: 'ER_BAD_NULL_ERROR',
    message: "Column 'title' cannot be null",
    status: 422,
    messages: blank,
  },
  {
    engine: 'MariaDB',
    code: 'ER_NO_DEFAULT_FOR_FIELD',
    message: "Field 'title' doesn't have a default value",
    status: 422,
    messages: blank,
  },
  {
    engine: 'MariaDB',
    code: 'ER_DATA_TOO_LONG',
    message: "Data too long for column 'title' at row 1",
    status: 422,
    messages: { title: ['Title is too long.'] },
  },
  {
    engine: 'MariaDB',
    code: 'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD',
    message: "Incorrect integer value: 'abc' for column `blog`.`posts`.`stars` at row 1",
    status: 422,
    messages: { stars: ['Stars is not valid.'] },
  },
  { engine: 'MariaDB', code: 'ER_LOCK_DEADLOCK', message: 'Deadlock found', status: 503 },
  { engine: 'MariaDB', code: 'ER_CHECKREAD', message: 'Record has changed since last read', status: 503 },
  { engine: 'MariaDB', code: 'ER_LOCK_WAIT_TIMEOUT', message: 'Lock wait timeout exceeded', status: 503 },
  { engine: 'MariaDB', code: '', errno: 1969, message: 'max_statement_time exceeded', status: 503 },
  { engine: 'MariaDB', code: '', errno: 1927, message: 'Connection was killed', status: 503 },
  { engine: 'MariaDB', code: 'PROTOCOL_CONNECTION_LOST', message: 'Connection lost', status: 503 },
  {
    engine: 'MariaDB',
    code: '',
    message: "Can't add new command when connection is in closed state",
    status: 503,
  },
  {
    engine: 'MariaDB',
    // The name that mysql2 has for the error number of MariaDB's checks.
    code: 'ER_INNODB_AUTOEXTEND_SIZE_OUT_OF_RANGE',
    errno: 4025,
    message: 'CONSTRAINT `posts_check` failed for `blog`.`posts`',
    status: 422,
    messages: { base: ['The record is not allowed.'] },
  },
  {
    engine: 'MariaDB',
    code: 'ER_INNODB_AUTOEXTEND_SIZE_OUT_OF_RANGE',
    errno: 4025,
    message: 'CONSTRAINT `posts.data` failed for `blog`.`posts`',
    status: 422,
    messages: { data: ['Data is not valid.'] },
  },
  {
    engine: 'PostgreSQL',
    code: '57014',
    message: 'canceling statement due to statement timeout',
    status: 503,
  },
  { engine: 'PostgreSQL', code: '55P03', message: 'canceling statement due to lock timeout', status: 503 },
  { engine: 'PostgreSQL', code: '', message: 'Connection terminated unexpectedly', status: 503 },
]

describe('explainDatabaseError(error)', () => {
  for (const { engine, code, message, query = 'INSERT INTO posts', status, messages, ...members } of CASES) {
    it(`returns ${status} for ${engine}'s ${code} ${members.detail ?? message}`.slice(0, 100), () => {
      const driverError = Object.assign(new Error(message), { code, ...members })
      const error = explainDatabaseError(new QueryFailedError(query, [], driverError))
      expect(error).to.be.instanceOf(HttpError)
      expect((error as HttpError).status).to.equal(status)
      expect((error as Error).cause).to.be.instanceOf(QueryFailedError)
      if (messages) expect((error as ValidationErrors).messages).to.deep.equal(messages)
    })
  }

  it("returns RecordNotFound for TypeORM's error of a missing record", () => {
    expect(explainDatabaseError(new EntityNotFoundError(Post, {}))).to.be.instanceOf(RecordNotFound)
  })

  it('returns any other error unchanged', () => {
    const errors = [
      new Error('any'),
      new QueryFailedError('SELEC', [], Object.assign(new Error('syntax error'), { code: 'SQLITE_ERROR' })),
      new HttpError(402, 'pay first'),
      undefined,
    ]
    expect(errors.map((error) => explainDatabaseError(error))).to.deep.equal(errors)
  })
})
