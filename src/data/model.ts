import { BeforeInsert, BeforeUpdate, CreateDateColumn, PrimaryColumn, UpdateDateColumn } from 'typeorm'
import type { EntityManager } from 'typeorm'
import type { ValidationErrors } from '../errors.js'
import { newId } from './ids.js'

/**
 * What every model has: an id that sorts by time (UUID version 7), when it was created, and when it was last updated.
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
   * Checks that a new record needs beyond its decorators, once these have found nothing wrong with it:
   * `errors.add('title', 'taken')`.
   */
  validateCreate(_errors: ValidationErrors, _tx: EntityManager): Promise<void> | void {}

  /** Checks that a changed record needs beyond its decorators, once these have found nothing wrong with it. */
  validateUpdate(_errors: ValidationErrors, _tx: EntityManager): Promise<void> | void {}

  /** Gives a record its id and its dates before it is inserted. An id or a date that it has already is kept. */
  @BeforeInsert()
  protected stampInsert(): void {
    stampInsert(this)
  }

  /** Notes the time of a change before it is saved. */
  @BeforeUpdate()
  protected stampUpdate(): void {
    const now = Date.now()
    // With the time that is there already, TypeORM would have SQLite set another one, without milliseconds.
    this.updated_at = new Date(Number(this.updated_at) === now ? now + 1 : now)
  }
}

/** The columns that the framework fills in; a plain object that is inserted or updated in bulk may lack them. */
export type Stamps = Partial<Pick<Model, 'id' | 'created_at' | 'updated_at'>>

/** Fills in the id and the dates that a record, or a plain object on its way to be inserted, does not have yet. */
export function stampInsert(values: Stamps): void {
  values.id ??= newId()
  values.created_at ??= new Date()
  values.updated_at ??= values.created_at
}
