import { Exclude } from 'class-transformer'
import { IsEmail, MaxLength } from 'class-validator'
import { Model } from 'resource-kit'
import { Column, Entity } from 'typeorm'

/** A row of the table `users`. Requests cannot set the hash, and no response contains it. */
@Entity('users')
export class User extends Model {
  /** The address in the form of `normalizeEmail`. `sendMail` rejects quotes and spaces, which `IsEmail` allows. */
  @Column('varchar', { unique: true })
  @MaxLength(254)
  @IsEmail({ blacklisted_chars: '"\\s' })
  email!: string

  @Column('varchar')
  @Exclude()
  password_hash!: string
}
