import { IsOptional, IsString, Matches } from 'class-validator'
import { BeforeInsert, Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm'
import { v7 as uuidv7 } from 'uuid'

/** A row of the same table that the other applications have. */
@Entity('posts')
export class Post {
  @PrimaryColumn('uuid')
  id!: string

  @CreateDateColumn()
  created_at!: Date

  @UpdateDateColumn()
  updated_at!: Date

  @Column('varchar')
  title!: string

  @Column('text', { nullable: true })
  description!: string | null

  @BeforeInsert()
  setId(): void {
    this.id ??= uuidv7()
  }
}

/** The body of a request that creates or updates a post. */
export class PostBody {
  @IsString()
  @Matches(/\S/, { message: 'Title cannot be blank.' })
  title!: string

  @IsOptional()
  @IsString()
  description?: string | null
}
