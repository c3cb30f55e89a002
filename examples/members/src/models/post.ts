import { Exclude } from 'class-transformer'
import { Model, Present } from 'resource-kit'
import { Column, Entity, JoinColumn, ManyToOne, type Relation, VersionColumn } from 'typeorm'
import { User } from './user.js'

/** A row of the `posts` table. Inherits `id`, `created_at` and `updated_at` from Model. */
@Entity('posts')
export class Post extends Model {
  @Column('varchar')
  @Present()
  title!: string

  @Column('text', { nullable: true })
  body!: string | null

  @VersionColumn()
  lock_version!: number

  /** Requests cannot set it. */
  @Column('uuid')
  @Exclude({ toClassOnly: true })
  user_id!: string

  @ManyToOne(() => User, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'user_id' })
  user?: Relation<User>
}
