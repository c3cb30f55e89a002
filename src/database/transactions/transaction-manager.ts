import { EntityManager, QueryBuilder, Repository } from 'typeorm'
import type { DataSource, QueryRunner } from 'typeorm'
import { memoizeByObject } from '../../common/memoize.js'
import { createRunner } from '../engines/mode.js'
import type { LazyTransaction, Waiting } from './lazy-transaction.js'
import { RunningWork } from './running-work.js'

/** The EntityManager of a request, whose methods are part of the work of the request's transaction. */
export class TransactionManager extends EntityManager {
  constructor(
    dataSource: DataSource,
    private readonly owner: LazyTransaction,
  ) {
    super(dataSource, runnerOf(owner))
  }

  get work(): RunningWork {
    return this.owner.work
  }

  /** Runs a query that only reads records, and locks nothing. */
  read(sql: string, values: unknown[]): Promise<unknown> {
    return this.owner.read(sql, values)
  }

  /** Runs a query of the framework that locks the rows that it reads. */
  readLocked(sql: string, values: unknown[]): Promise<unknown> {
    return this.owner.readLocked(sql, values)
  }

  /** The statements of the transaction that wait to be sent together. */
  get waiting(): Waiting | undefined {
    return this.owner.waiting
  }

  /** Runs one statement in a savepoint. */
  write(sql: string, values: unknown[]): Promise<unknown> {
    return this.owner.write(sql, values)
  }
}

/**
 * Runs work in a savepoint of the transaction, so that the transaction survives if the work fails. Concurrent
 * savepoints run one after the other: TypeORM numbers them by their depth, so that parallel ones would undo
 * each other's work. Outside of a transaction, the work has its own transaction.
 */
export function inSavepoint<T>(
  tx: EntityManager,
  work: (savepoint: EntityManager) => Promise<T>,
): Promise<T> {
  const runner = tx.queryRunner
  if (!runner || tx instanceof TransactionManager) return tx.transaction(work)
  return workOf(runner).nest(() => tx.transaction(work))
}

/** Runs work with a query runner, whose results count changed rows. A database's manager has none. */
export function withRunner<T>(tx: EntityManager, work: (tx: EntityManager) => Promise<T>): Promise<T> {
  return tx.queryRunner ? work(tx) : withNewRunner(tx, work)
}

async function withNewRunner<T>(tx: EntityManager, work: (tx: EntityManager) => Promise<T>): Promise<T> {
  const runner = createRunner(tx.dataSource, 'write')
  try {
    return await work(runner.manager)
  } finally {
    await runner.release()
  }
}

/** The work of transactions that do not belong to a request. */
const workOf = memoizeByObject((_runner: QueryRunner) => new RunningWork())

type Method = (this: TransactionManager, ...args: unknown[]) => unknown

for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(EntityManager.prototype))) {
  if (name === 'constructor' || typeof value !== 'function') continue
  // Each method has its own type. The replacement passes all arguments on.
  const method = value as Method
  const replacement: Method =
    name === 'transaction'
      ? function (...args) {
          return this.work.run(() => this.work.nest(async () => method.apply(this, args)))
        }
      : function (...args) {
          return observe(this.work, method.apply(this, args))
        }
  Object.defineProperty(TransactionManager.prototype, name, { value: replacement })
}

/** Lets the promises of an object of TypeORM be part of a transaction's work. */
function observe(work: RunningWork, result: unknown): unknown {
  if (result instanceof Promise) return work.run(() => result)
  if (!(result instanceof QueryBuilder) && !(result instanceof Repository)) return result
  const proxy: object = new Proxy(result, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function' || name === 'constructor') return member
      return (...args: unknown[]) => {
        const returned: unknown = Reflect.apply(member, target, args)
        return returned === target ? proxy : observe(work, returned)
      }
    },
  })
  return proxy
}

type RunnerMembers = Partial<Record<keyof QueryRunner, (transaction: LazyTransaction) => unknown>>

/**
 * The query runner as TypeORM sees it: a transaction that is always active, so that `save` does not begin and
 * commit one of its own, and in which `transaction()` is a savepoint.
 */
const members: RunnerMembers = {
  isTransactionActive: () => true,
  // After the end, the transaction throws the framework's own error instead of TypeORM's.
  isReleased: () => false,
  // Some runners forget their manager when they are released.
  manager: ({ manager }) => manager,
  query:
    (transaction) =>
    (...args: Parameters<QueryRunner['query']>) =>
      transaction.query(...args),
  stream:
    (transaction) =>
    (...[sql, values, onEnd, onError]: Parameters<QueryRunner['stream']>) =>
      transaction.work.run(async () => {
        const rows = await transaction.stream(sql, values)
        if (onEnd) rows.on('end', () => void onEnd())
        if (onError) rows.on('error', (error) => void onError(error))
        return rows
      }),
  connect: (transaction) => () => transaction.connect(),
  startTransaction: (transaction) => () => transaction.startSavepoint(),
  commitTransaction: (transaction) => () => transaction.releaseSavepoint(),
  rollbackTransaction: (transaction) => () => transaction.undoSavepoint(),
  release: () => () => Promise.resolve(),
}

function runnerOf(transaction: LazyTransaction): QueryRunner {
  return new Proxy(transaction.runner, {
    // TypeORM assigns `manager`. A proxy without this trap would do so slowly.
    set: (_initial, name, value) => Reflect.set(transaction.runner, name, value),
    get: (_initial, name) => {
      const member = Object.hasOwn(members, name) ? members[name as keyof QueryRunner] : undefined
      return member ? member(transaction) : Reflect.get(transaction.runner, name)
    },
  })
}
