import type { AppOptions, Database, Model } from '../../../src/index.js'
import { jobQueue } from '../../../src/jobs/index.js'
import { Factory } from '../../../src/testing/index.js'
import { Site, type SpecRequest, type SpecResponse } from '../site.js'
import {
  Branch,
  Invitation,
  makeUser,
  Membership,
  teamsApplication,
  teamsDatabase,
  User,
  Work,
} from './teams.js'
import type { JobContext } from '../../../src/index.js'

/** A user with a bearer token. */
export type Account = User & { bearer: string }

/** The rental company with one branch in Berlin, its owner, and a user who isn't a member. */
export class Company {
  branch!: Branch
  owner!: Account
  stranger!: Account
  private count = 0
  /** The tokens by address. */
  readonly bearers = new Map<string, string>()

  private constructor(
    readonly database: Database,
    readonly made: ReturnType<typeof teamsApplication>,
    readonly site: Site,
  ) {}

  static async open(
    options: AppOptions = {},
    declare?: Parameters<typeof teamsApplication>[2],
    opened?: Database,
  ): Promise<Company> {
    const database = opened ?? (await teamsDatabase())
    const made = teamsApplication(database, options, declare)
    const company = new Company(database, made, await Site.open(made.app))
    company.tellClient()
    company.owner = await company.makeUser('owner')
    company.stranger = await company.makeUser('stranger')
    company.branch = await company.makeBranch('Berlin', company.owner)
    return company
  }

  /** Tells the client of this site how users are made, as generated helpers do. */
  private tellClient(): void {
    const { site, database } = this
    const factory = new Factory(database)
    factory.define(Membership, () => ({ role: 'viewer' }))
    factory.define(Invitation, () => ({ role: 'viewer' }))
    site.records = { database, factory }
    Object.assign(site.people, {
      makeUser: () => this.makeUser(`user-${++this.count}`),
      makeMember: (branch: Branch, role: string) => this.makeMember(role, branch),
      makeTeam: () => this.insert(Branch, { name: `Branch ${++this.count}` }),
      signIn: async (client: Site, { bearer }: Account) => (client.bearer = bearer),
    })
  }

  async close(): Promise<void> {
    Work.perform = undefined
    await this.site.close()
    await this.database.close()
  }

  async makeUser(name: string, values: Partial<User> = {}): Promise<Account> {
    const user = await makeUser(this.database, `${name}@example.com`, values)
    this.bearers.set(user.email, user.bearer)
    return user
  }

  async makeBranch(name: string, user: User): Promise<Branch> {
    const branch = Object.assign(new Branch(), { name })
    const errors = await this.database.transaction((tx) => this.made.branches.create(tx, branch, user))
    if (errors) throw errors
    return branch
  }

  async makeMember(role: string, branch = this.branch): Promise<Account & { membership: Membership }> {
    const user = await this.makeUser(`${role}-${++this.count}`)
    return Object.assign(user, { membership: await this.join(user, role, branch) })
  }

  /** Adds a member past the limits. */
  join(user: User, role: string, branch = this.branch): Promise<Membership> {
    return this.insert(Membership, { branch_id: branch.id, user_id: user.id, role })
  }

  insert<T extends Model>(model: new () => T, values: Partial<T>): Promise<T> {
    return this.database.manager.save(Object.assign(new model(), values))
  }

  /** Runs work in a job. */
  async inJob(work: (job: JobContext) => unknown): Promise<void> {
    let failure: unknown
    Work.perform = async (job) => {
      try {
        await work(job)
      } catch (error) {
        failure = error
        throw error
      }
    }
    const jobs = this.made.app.extension(jobQueue)
    await jobs?.enqueue(this.database.manager, Work, {})
    await jobs?.drain()
    if (failure) throw failure
  }

  /** Sends a request as a user, or as a visitor. */
  send(
    user: Pick<Account, 'bearer'> | undefined,
    method: string,
    path: string,
    request: SpecRequest = {},
  ): Promise<SpecResponse> {
    const headers = { ...(user && { authorization: `Bearer ${user.bearer}` }), ...request.headers }
    return this.site.request(method, path, { accept: 'json', ...request, headers })
  }

  at(path = '', branch = this.branch): string {
    return `/branches/${branch.id}${path}`
  }

  invite(
    user: Account | undefined,
    email: string,
    role: string,
    branch = this.branch,
  ): Promise<SpecResponse> {
    return this.send(user, 'POST', this.at('/invitations', branch), { json: { email, role } })
  }

  /** The token of the last mail. */
  get token(): string {
    return this.made.mails.at(-1)?.token ?? ''
  }

  accept(user: Account | undefined, token = this.token): Promise<SpecResponse> {
    return this.send(user, 'PUT', '/invitation', { json: { token } })
  }

  membershipOf(user: User, branch = this.branch): Promise<Membership | null> {
    return this.database.manager.findOneBy(Membership, { branch_id: branch.id, user_id: user.id })
  }

  async roleOf(user: User, branch = this.branch): Promise<string | undefined> {
    return (await this.membershipOf(user, branch))?.role
  }

  async change(actor: Account, user: User, role: unknown): Promise<SpecResponse> {
    const { id } = (await this.membershipOf(user)) ?? {}
    return this.send(actor, 'PATCH', this.at(`/memberships/${id}`), { json: { role } })
  }

  async remove(actor: Account, user: User): Promise<SpecResponse> {
    const { id } = (await this.membershipOf(user)) ?? {}
    return this.send(actor, 'DELETE', this.at(`/memberships/${id}`))
  }
}

/** The status of a response, with the codes of its errors. */
export function codesOf({ status, json }: SpecResponse): { status: number; codes?: unknown } {
  return { status, ...(json.codes && { codes: json.codes }) }
}
