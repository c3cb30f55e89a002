import { Model, Present, type ValidationErrors } from 'resource-kit'
import { Column, Entity, JoinColumn, ManyToOne, type EntityManager, type Relation } from 'typeorm'
import { Post } from './post.js'

/** A row of the table `comments`. Inherits `id`, `created_at` and `updated_at` from Model. */
@Entity('comments')
export class Comment extends Model {
  @Column('text')
  @Present()
  body!: string

  @Column('uuid')
  post_id!: string

  @ManyToOne(() => Post, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'post_id' })
  post?: Relation<Post>

  /**
   * Runs before a comment is created, if its decorators report no errors. Report an error with
   * `errors.add('body', 'taken')`.
   */
  async validateCreate(_errors: ValidationErrors, _tx: EntityManager): Promise<void> {}

  /** Runs before a comment is updated. */
  async validateUpdate(_errors: ValidationErrors, _tx: EntityManager): Promise<void> {}
}
