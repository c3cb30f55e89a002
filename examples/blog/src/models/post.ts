import { Model, Present } from 'resource-kit'
import { Column, Entity } from 'typeorm'

/** A row of the `posts` table. Inherits `id`, `created_at` and `updated_at` from Model. */
@Entity('posts')
export class Post extends Model {
  @Column('varchar')
  @Present()
  title!: string

  @Column('text', { nullable: true })
  description!: string | null
}
