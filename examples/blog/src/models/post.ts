import { Model, Present, type ValidationErrors } from 'resource-kit'
import { Column, Entity, type EntityManager } from 'typeorm'

/** A row of the table `posts`. Inherits `id`, `created_at` and `updated_at` from Model. */
@Entity('posts')
export class Post extends Model {
  @Column('varchar')
  @Present()
  title!: string

  @Column('text', { nullable: true })
  description!: string | null

  /**
   * Runs before a post is created, if its decorators report no errors. Report an error with
   * `errors.add('title', 'taken')`.
   */
  async validateCreate(_errors: ValidationErrors, _tx: EntityManager): Promise<void> {}

  /** Runs before a post is updated. */
  async validateUpdate(_errors: ValidationErrors, _tx: EntityManager): Promise<void> {}
}
