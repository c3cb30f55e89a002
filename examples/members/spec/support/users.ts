import { hashPassword } from 'resource-kit/auth'
import type { Client } from 'resource-kit/testing'
import { User } from '../../src/models/user.js'
import { client, factory } from './app.js'

/** The password of all users in specs. */
export const password = 'correct horse battery staple'

let hash: Promise<string> | undefined

factory.define(User, (n) => ({ email: `user${n}@example.com` }))

/** Creates a user. The password is hashed once for all specs. */
export async function makeUser(values: Partial<User> = {}): Promise<User> {
  hash ??= hashPassword(password)
  return factory.make(User, { password_hash: await hash, ...values })
}

/** Signs a user in, as a browser does. */
export async function signIn(client: Client, { email }: Pick<User, 'email'>, given = password) {
  await client.get('/session/new')
  return client.post('/session', { form: { email, password: given } })
}

/** Signs out. */
export async function signOut(client: Client) {
  await client.get('/')
  return client.post('/session', { form: { _method: 'DELETE' } })
}

// Lets signInFor() sign a user in.
Object.assign(client.people, { makeUser: makeUser, signIn })
