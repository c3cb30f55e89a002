import { Model, Present, Within } from 'resource-kit'
import { Column, Entity, JoinColumn, ManyToOne, type Relation } from 'typeorm'
import { Post } from './post.js'

/** A row of the `comments` table. Inherits `id`, `created_at` and `updated_at` from Model. */
@Entity('comments')
@Within('post')
export class Comment extends Model {
  @Column('text')
  @Present()
  body!: string

  @Column('uuid')
  post_id!: string

  @ManyToOne(() => Post, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'post_id' })
  post?: Relation<Post>
}
