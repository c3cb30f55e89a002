import { BeforeInsert, BeforeUpdate, CreateDateColumn, PrimaryColumn, UpdateDateColumn } from 'typeorm'
import type { EntityManager } from 'typeorm'
import type { ValidationErrors } from '../errors.js'
import { newId } from './ids.js'

/**
 * The base class of models: an id that sorts by time (UUID version 7), and the times of creation and of the
 * last update.
 *
 * @example
 * ```ts
 * @Entity('posts')
 * export class Post extends Model {
 *   @Present()
 *   @Column('varchar')
 *   title!: string
 * }
 * ```
 */
export abstract class Model {
  @PrimaryColumn('uuid')
  id!: string

  @CreateDateColumn()
  created_at!: Date

  @UpdateDateColumn()
  updated_at!: Date

  /**
   * Checks a new record after its decorators have found no error. It adds its own errors:
   * `errors.add('title', 'taken')`.
   */
  validateCreate(_errors: ValidationErrors, _tx: EntityManager): Promise<void> | void {}

  /** Checks a changed record after its decorators have found no error. */
  validateUpdate(_errors: ValidationErrors, _tx: EntityManager): Promise<void> | void {}

  /** Sets the id and the timestamps of a record before it is inserted. Existing values are kept. */
  @BeforeInsert()
  protected setGeneratedColumns(): void {
    setGeneratedColumns(this)
  }

  /** Sets the time of the update before a record is saved. */
  @BeforeUpdate()
  protected stampUpdate(): void {
    const now = Date.now()
    // If the new time were the same as the old one, TypeORM would let SQLite set the time, without
    // milliseconds.
    this.updated_at = new Date(Number(this.updated_at) === now ? now + 1 : now)
  }
}

/** The columns that the framework sets. A plain object that is inserted or updated in bulk may lack them. */
export type GeneratedColumns = Partial<Pick<Model, 'id' | 'created_at' | 'updated_at'>>

/** Sets the id and the timestamps of a record or a plain object before it is inserted, unless they exist. */
export function setGeneratedColumns(values: GeneratedColumns): void {
  values.id ??= newId()
  values.created_at ??= new Date()
  values.updated_at ??= values.created_at
}
