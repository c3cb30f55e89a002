import { IsString, Matches } from 'class-validator'
import { Column, Entity, PrimaryColumn } from 'typeorm'
import { v7 as uuidv7 } from 'uuid'

// PostgreSQL has no type `datetime`.
const datetime = process.env['DATABASE_URL']?.startsWith('postgres') ? 'timestamptz' : 'datetime'

/** The peer's model. Its dates are plain columns that it fills in itself: nothing has to be read back. */
@Entity('posts')
export class Post {
  @PrimaryColumn('uuid')
  id!: string

  @Column(datetime)
  created_at!: Date

  @Column(datetime)
  updated_at!: Date

  @Column('varchar')
  @IsString()
  @Matches(/\S/, { message: 'Title cannot be blank.' })
  title!: string

  @Column('text', { nullable: true })
  description!: string | null
}

/** Copies the fields of a body that a client may set. */
export function assign(post: Post, body: unknown): Post {
  const { title, description } = Object(body)
  if (title !== undefined) post.title = title
  if (description !== undefined) post.description = description || null
  return post
}

/** Gives a new post its id and its dates. */
export function stamp(post: Post): void {
  post.id = uuidv7()
  post.created_at = new Date()
  post.updated_at = post.created_at
}
