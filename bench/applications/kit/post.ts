import { Column, Entity } from 'typeorm'
import { Model, Present } from '../../../src/index.js'

/** The model that `kit generate resource post title description:nulls.text` writes. */
@Entity('posts')
export class Post extends Model {
  @Column('varchar')
  @Present()
  title!: string

  @Column('text', { nullable: true })
  description!: string | null
}
