import { Model, Present, type ValidationErrors } from 'resource-kit'
import { Column, Entity, JoinColumn, ManyToOne, type EntityManager, type Relation } from 'typeorm'
import { User } from './user.js'

/** A row of the table `posts`. Inherits `id`, `created_at` and `updated_at` from Model. */
@Entity('posts')
export class Post extends Model {
  @Column('varchar')
  @Present()
  title!: string

  @Column('text', { nullable: true })
  body!: string | null

  @Column('uuid')
  user_id!: string

  @ManyToOne(() => User, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'user_id' })
  user?: Relation<User>

  /**
   * Runs before a post is created, if its decorators report no errors. Report an error with
   * `errors.add('title', 'taken')`.
   */
  async validateCreate(_errors: ValidationErrors, _tx: EntityManager): Promise<void> {}

  /** Runs before a post is updated. */
  async validateUpdate(_errors: ValidationErrors, _tx: EntityManager): Promise<void> {}
}
