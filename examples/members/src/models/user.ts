import { Exclude, Transform } from 'class-transformer'
import { IsEmail, MaxLength } from 'class-validator'
import { Model } from 'resource-kit'
import { normalizeEmail } from 'resource-kit/auth'
import { Column, Entity } from 'typeorm'

/** A row of the `users` table. Requests cannot set the hash, and no response contains it. */
@Entity('users')
export class User extends Model {
  /** The address in the form of `normalizeEmail`. `sendMail` rejects quotes and spaces, which `IsEmail` allows. */
  @Column('varchar', { unique: true })
  @MaxLength(254)
  @IsEmail({ blacklisted_chars: '"\\s' })
  @Transform(({ value }) => normalizeEmail(value), { toClassOnly: true })
  email!: string

  /** Empty until a user whom somebody else has added chooses a password by a mail. No password matches an empty hash. */
  @Column('varchar')
  @Exclude()
  password_hash = ''
}
