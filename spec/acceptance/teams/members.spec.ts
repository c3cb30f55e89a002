import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { newId } from '../../../src/models/ids.js'
import { findCrossings } from '../../../src/records/crossings.js'
import { captureLog } from '../../../src/testing/index.js'
import { codesOf, Company, type Account } from '../../support/applications/company.js'
import {
  Branch,
  Customer,
  Invitation,
  Item,
  Line,
  makeToken,
  Membership,
  Rental,
  roles,
  teamsApplication,
  User,
  Visit,
} from '../../support/applications/teams.js'
import { Site, type SpecResponse } from '../../support/site.js'

describe('The members of teams', () => {
  let company: Company
  let branch: Branch
  let owner: Account
  let stranger: Account

  beforeEach(async () => {
    company = await Company.open()
    ;({ branch, owner, stranger } = company)
  })

  afterEach(() => company.close())

  const manager = () => company.database.manager
  const get = (user: Account | undefined, path: string) => company.send(user, 'GET', path)

  describe('of a new team', () => {
    it('are its creator, who has the highest role', async () => {
      const response = await company.send(stranger, 'POST', '/branches', { json: { name: 'Bonn' } })
      expect(response.status).to.equal(201)
      const rows = await manager().findBy(Membership, { branch_id: response.json.id })
      expect(rows.map(({ user_id, role }) => ({ user_id, role }))).to.deep.equal([
        { user_id: stranger.id, role: 'owner' },
      ])
      expect((await get(stranger, `/branches/${response.json.id}`)).status).to.equal(200)
    })

    it('are none if the team is not valid', async () => {
      const { status } = await company.send(stranger, 'POST', '/branches', { json: { name: '' } })
      expect(status).to.equal(422)
      expect(await manager().countBy(Branch, {})).to.equal(1)
      expect(await manager().countBy(Membership, {})).to.equal(1)
    })
  })

  it('see the records of their teams alone', async () => {
    const viewer = await company.makeMember('viewer')
    const other = await company.makeBranch('Bonn', stranger)
    await company.insert(Customer, { name: 'ours', branch_id: branch.id })
    const theirs = await company.insert(Customer, { name: 'theirs', branch_id: other.id })
    expect((await get(viewer, '/branches')).json.map(({ name }: Branch) => name)).to.deep.equal(['Berlin'])
    expect((await get(viewer, company.at('/customers'))).json).to.have.length(1)
    for (const path of ['/customers', `/customers/${theirs.id}`, '', '/memberships', '/invitations'])
      expect((await get(owner, company.at(path, other))).status, path).to.equal(404)
    expect((await get(owner, company.at(`/customers/${theirs.id}`))).status).to.equal(404)
    expect((await get(undefined, company.at('/customers'))).status).to.equal(401)
  })

  it('may do what the policy allows to their role', async () => {
    for (const role of roles) {
      const member = await company.makeMember(role)
      const made = await company.send(member, 'POST', company.at('/customers'), { json: { name: role } })
      expect(made.status, role).to.equal(role === 'viewer' ? 403 : 201)
      const { id } = await company.insert(Customer, { name: `of ${role}`, branch_id: branch.id })
      const { status } = await company.send(member, 'DELETE', company.at(`/customers/${id}`))
      expect(status, role).to.equal(role === 'viewer' || role === 'clerk' ? 403 : 200)
    }
  })

  it('with a role that is not in the list may do nothing', async () => {
    const member = await company.makeMember('captain')
    for (const path of ['', '/customers', '/memberships'])
      expect((await get(member, company.at(path))).status).to.equal(404)
  })

  it('are refused where a handler or a job writes them', async () => {
    const membership = (await company.membershipOf(owner)) ?? new Membership()
    const results: unknown[] = []
    const attempt = async (work: () => Promise<unknown>) =>
      results.push(
        await work().then(
          () => 'written',
          (error: Error) => error.message,
        ),
      )
    await company.inJob(async (job) => {
      await attempt(() => job.save(Object.assign(membership, { role: 'viewer' })))
      await attempt(() => job.destroy(membership))
      await attempt(() => job.save(Object.assign(new Invitation(), { branch_id: branch.id })))
    })
    const messageOf = (model: string) =>
      `ctx.save and ctx.destroy do not write a record of ${model}, because they check neither roles nor the last owner. ` +
      'Call create, invite, accept, changeRole or remove of teamMembers().'
    expect(results).to.deep.equal(['Membership', 'Membership', 'Invitation'].map(messageOf))
    expect(await company.roleOf(owner)).to.equal('owner')
  })

  describe('are invited', () => {
    it('by managers, with the same response whether the address has an account or not', async () => {
      const boss = await company.makeMember('manager')
      const known = await company.invite(boss, stranger.email, 'clerk')
      const unknown = await company.invite(boss, 'new@example.com', 'clerk')
      expect([known.status, unknown.status]).to.deep.equal([201, 201])
      const shape = ({ json }: SpecResponse) => Object.keys(json)
      expect(shape(known)).to.deep.equal(shape(unknown))
      expect(shape(known)).to.not.include('token_hash')
      for (const role of ['clerk', 'viewer'])
        expect(
          (await company.invite(await company.makeMember(role), 'other@example.com', 'viewer')).status,
        ).to.equal(403)
      expect((await get(boss, company.at('/invitations'))).json).to.have.length(2)
      const clerk = await company.makeMember('clerk')
      expect((await get(clerk, company.at('/invitations'))).status).to.equal(403)
    })

    it('and accept once', async () => {
      await company.invite(owner, stranger.email, 'clerk')
      const { token } = company
      const open = await get(undefined, `/invitation/open/${token}`)
      expect(open.json).to.deep.equal({ branch: 'Berlin', inviter: owner.email, role: 'clerk' })
      expect((await company.accept(stranger)).status).to.equal(200)
      expect(await company.roleOf(stranger)).to.equal('clerk')
      expect(await manager().countBy(Invitation, {})).to.equal(0)
      // A second click leads to the team.
      expect((await company.accept(stranger)).json.branch_id).to.equal(branch.id)
      expect((await company.accept(await company.makeUser('other'))).status).to.equal(410)
      expect((await get(undefined, `/invitation/open/${token}`)).status).to.equal(410)
    })

    it('as their own address alone', async () => {
      await company.invite(owner, stranger.email, 'clerk')
      const other = await company.makeUser('other')
      const wrong = await company.accept(other)
      expect(wrong.status).to.equal(403)
      expect(wrong.json.detail).to.equal('This invitation is for s…@example.com.')
      expect(await company.roleOf(other)).to.equal(undefined)
      expect((await company.accept(stranger)).status).to.equal(200)
    })

    it('by one link: a link that is forged, replaced, withdrawn or expired is gone', async () => {
      await company.invite(owner, stranger.email, 'clerk')
      const first = company.token
      await company.invite(owner, stranger.email, 'manager')
      const second = company.token
      const forged = `${second.slice(0, -2)}${second.endsWith('AA') ? 'BB' : 'AA'}`
      for (const token of [first, forged, 'nonsense', '', `${newId().replaceAll('-', '')}${'x'.repeat(43)}`])
        expect((await company.accept(stranger, token)).status, token).to.equal(410)
      const [invitation] = await manager().find(Invitation)
      expect(invitation).to.include({ role: 'manager', email: stranger.email, inviter_id: owner.id })
      await manager().update(Invitation, { email: stranger.email }, { expires_at: new Date(Date.now() - 1) })
      expect((await company.accept(stranger, second)).status).to.equal(410)
      expect((await get(undefined, `/invitation/open/${second}`)).status).to.equal(410)
      await company.invite(owner, stranger.email, 'viewer')
      const [open, ...others] = await manager().find(Invitation)
      expect(others).to.deep.equal([])
      const withdrawn = await company.send(owner, 'DELETE', company.at(`/invitations/${open?.id}`))
      expect(withdrawn.status).to.equal(200)
      expect((await company.accept(stranger)).status).to.equal(410)
      expect(await company.roleOf(stranger)).to.equal(undefined)
    })

    it('not any more by somebody who has been removed, or above the role to which somebody was lowered', async () => {
      const [removed, lowered] = [await company.makeMember('manager'), await company.makeMember('manager')]
      await company.invite(removed, 'own-second-address@example.com', 'manager')
      for (const role of ['manager', 'viewer']) await company.invite(lowered, `${role}@example.com`, role)
      await company.invite(owner, stranger.email, 'clerk')
      const open = async () => (await manager().find(Invitation)).map(({ email }) => email).toSorted()
      expect((await company.change(owner, lowered, 'clerk')).status).to.equal(200)
      expect(await open()).to.deep.equal(
        ['own-second-address@example.com', stranger.email, 'viewer@example.com'].toSorted(),
      )
      expect((await company.remove(owner, removed)).status).to.equal(200)
      expect(await open()).to.deep.equal([stranger.email, 'viewer@example.com'].toSorted())
    })

    it('without a change of the role if they are members already', async () => {
      await company.invite(owner, stranger.email, 'owner')
      await company.join(stranger, 'viewer')
      expect((await company.accept(stranger)).json.role).to.equal('viewer')
      expect(await manager().countBy(Invitation, {})).to.equal(0)
      expect(codesOf(await company.invite(owner, stranger.email, 'clerk'))).to.deep.equal({
        status: 422,
        codes: { email: ['member'] },
      })
    })

    it('with a role of the list, at an address', async () => {
      const response = await company.invite(owner, 'new@example.com', 'captain')
      expect(codesOf(response)).to.deep.equal({ status: 422, codes: { role: ['isIn'] } })
      expect(response.json.errors.role).to.deep.equal(['Role must be one of: owner, manager, clerk, viewer.'])
      expect(codesOf(await company.invite(owner, '', 'clerk'))).to.deep.equal({
        status: 422,
        codes: { email: ['present'] },
      })
    })

    it('by a token that no table, log or response contains', async () => {
      const log = captureLog()
      const logged = teamsApplication(company.database, { logger: log.logger })
      const other = await Site.open(logged.app)
      const headers = (user: Account) => ({ authorization: `Bearer ${user.bearer}` })
      const json = { email: stranger.email, role: 'clerk' }
      const made = await other.post(company.at('/invitations'), {
        accept: 'json',
        headers: headers(owner),
        json,
      })
      const token = logged.mails[0]?.token ?? ''
      const secret = token.slice(32)
      expect(Buffer.from(secret, 'base64url')).to.have.length(32)
      const [row] = await manager().find(Invitation)
      expect(row?.token_hash).to.equal(createHash('sha256').update(token).digest('hex'))
      await other.put('/invitation', { accept: 'json', headers: headers(stranger), json: { token } })
      await other.get(`/invitation/open/${token}`, { accept: 'json' })
      for (const text of [JSON.stringify(row), made.text, log.text()]) expect(text).to.not.include(secret)
      await other.close()
    })
  })

  describe('keep the limits of roles', () => {
    const rank = (role: string) => roles.indexOf(role as 'owner')

    it('with every pair of roles and every method', async () => {
      for (const actorRole of roles)
        for (const targetRole of roles) {
          const actor = await company.makeMember(actorRole)
          const isManager = rank(actorRole) <= rank('manager')
          const mayGive = isManager && rank(targetRole) >= rank(actorRole)
          const name = `${actorRole} and ${targetRole}`
          const email = `${newId()}@example.com`
          expect((await company.invite(actor, email, targetRole)).status, `invite: ${name}`).to.equal(
            mayGive ? 201 : 403,
          )
          // An actor who may not give a role cannot replace or withdraw an invitation with it either.
          if (!mayGive) await company.invite(owner, email, targetRole)
          const lowest = await company.invite(actor, email, 'viewer')
          expect(lowest.status, `again: ${name}`).to.equal(mayGive ? 201 : 403)
          await company.invite(owner, email, targetRole)
          const { id } = await manager().findOneByOrFail(Invitation, { email })
          const withdrawn = await company.send(actor, 'DELETE', company.at(`/invitations/${id}`))
          expect(withdrawn.status, `withdraw: ${name}`).to.equal(mayGive ? 200 : 403)

          const target = await company.makeMember(targetRole)
          for (const role of roles) {
            const may = mayGive && rank(role) >= rank(actorRole)
            const { status } = await company.change(actor, target, role)
            expect(status, `change to ${role}: ${name}`).to.equal(may ? 200 : 403)
            await manager().update(Membership, target.membership.id, { role: targetRole })
          }
          expect((await company.remove(actor, target)).status, `remove: ${name}`).to.equal(
            mayGive ? 200 : 403,
          )
        }
    })

    it('for oneself: down and out, not up', async () => {
      for (const role of roles) {
        const member = await company.makeMember(role)
        if (rank(role) > 0)
          expect((await company.change(member, member, roles[rank(role) - 1])).status, role).to.equal(403)
        expect((await company.change(member, member, 'viewer')).status, role).to.equal(200)
        expect((await company.remove(member, member)).status, role).to.equal(200)
        expect((await get(member, company.at())).status).to.equal(404)
      }
    })

    it('whatever the record says that a handler has read', async () => {
      const boss = await company.makeMember('manager')
      const target = await company.makeMember('clerk')
      company.made.before = (ctx) => ctx.tx.update(Membership, target.membership.id, { role: 'owner' })
      expect((await company.remove(boss, target)).status).to.equal(403)
      company.made.before = (ctx) => ctx.tx.delete(Membership, boss.membership.id)
      expect((await company.remove(boss, target)).status).to.equal(404)
    })

    it('of an owner at least', async () => {
      const lastOwner = { status: 409, codes: { base: ['last_owner'] } }
      expect(codesOf(await company.change(owner, owner, 'viewer'))).to.deep.equal(lastOwner)
      expect(codesOf(await company.remove(owner, owner))).to.deep.equal(lastOwner)
      expect(await company.roleOf(owner)).to.equal('owner')
      expect((await company.change(owner, owner, 'owner')).status).to.equal(200)
      const second = await company.makeMember('owner')
      expect((await company.change(second, owner, 'viewer')).status).to.equal(200)
      expect(codesOf(await company.remove(second, second))).to.deep.equal(lastOwner)
      expect((await company.remove(second, second)).json.errors.base).to.deep.equal([
        'A team must have an owner. Give somebody else this role first.',
      ])
      const reason = await manager()
        .delete(User, second.id)
        .catch((error: unknown) => String(error))
      expect(reason).to.match(/foreign key/i)
    })

    it('in numbers: invitations, members, teams of a user', async () => {
      const expires_at = new Date(Date.now() + 60_000)
      const several = <T>(count: number, make: (index: number) => T) =>
        Array.from({ length: count }, (_, index) => ({ id: newId(), ...make(index) }))
      const role = 'viewer'
      const token_hash = ''
      const open = several(100, (index) => ({ branch_id: branch.id, email: `${index}@example.com`, role }))
      await manager().insert(
        Invitation,
        open.map((row) => ({ ...row, token_hash, expires_at, inviter_id: null })),
      )
      expect(codesOf(await company.invite(owner, stranger.email, 'viewer'))).to.deep.equal({
        status: 422,
        codes: { base: ['too_many_invitations'] },
      })
      // The same address has no further invitation.
      expect((await company.invite(owner, '7@example.com', 'viewer')).status).to.equal(201)
      await manager().update(Invitation, { email: '8@example.com' }, { expires_at: new Date(0) })
      expect((await company.invite(owner, stranger.email, 'viewer')).status).to.equal(201)

      const teams = several(200, () => ({ name: 'one' }))
      await manager().insert(Branch, teams)
      await manager().insert(
        Membership,
        several(200, (index) => ({ branch_id: teams[index]?.id ?? '', user_id: stranger.id, role })),
      )
      const tooMany = { status: 422, codes: { base: ['too_many_teams'] } }
      expect(codesOf(await company.accept(stranger))).to.deep.equal(tooMany)
      expect(
        codesOf(await company.send(stranger, 'POST', '/branches', { json: { name: 'x' } })),
      ).to.deep.equal(tooMany)
      expect(await manager().countBy(Invitation, { email: stranger.email })).to.equal(1)

      const users = several(999, (index) => ({
        email: `member-${index}@example.com`,
        password_hash: '',
        admin: false,
      }))
      const members = users.map(({ id }) => ({ id: newId(), branch_id: branch.id, user_id: id, role }))
      for (let first = 0; first < 999; first += 333) {
        await manager().insert(User, users.slice(first, first + 333))
        await manager().insert(Membership, members.slice(first, first + 333))
      }
      const late = await company.makeUser('late')
      await manager().update(Invitation, { email: stranger.email }, { email: late.email })
      expect(codesOf(await company.accept(late))).to.deep.equal({
        status: 422,
        codes: { base: ['too_many_members'] },
      })
    })
  })

  describe('at the same time', () => {
    it('accept one invitation once', async () => {
      await company.invite(owner, stranger.email, 'clerk')
      const other = await company.makeUser('other')
      const all = await Promise.all(
        Array.from({ length: 50 }, (_, index) => company.accept(index % 2 ? stranger : other)),
      )
      const count = (status: number) => all.filter((response) => response.status === status).length
      expect(count(200)).to.equal(25)
      expect(count(200) + count(403) + count(410)).to.equal(50)
      expect(await manager().countBy(Membership, { branch_id: branch.id })).to.equal(2)
      expect(await company.roleOf(other)).to.equal(undefined)
      expect(await manager().countBy(Invitation, {})).to.equal(0)
    })

    it('accept, resend and withdraw', async () => {
      for (let round = 0; round < 4; round++) {
        const user = await company.makeUser(`round-${round}`)
        await company.invite(owner, user.email, 'clerk')
        const { token } = company
        const { id } = await manager().findOneByOrFail(Invitation, { email: user.email })
        const [accepted, again] = await Promise.all([
          company.accept(user, token),
          company.invite(owner, user.email, 'viewer'),
          company.send(owner, 'DELETE', company.at(`/invitations/${id}`)),
        ])
        expect(accepted.status).to.be.oneOf([200, 410])
        const role = await company.roleOf(user)
        expect(role).to.equal(accepted.status === 200 ? 'clerk' : undefined)
        expect(again.status).to.be.oneOf([201, 422])
        // The link is dead in any case.
        if (!role) expect((await company.accept(user, token)).status).to.equal(410)
      }
    })

    it('leave, and one owner stays', async () => {
      const owners = [owner, ...(await makeSeveral('owner', 9))]
      const steps = owners.flatMap((one, index) => {
        const next = owners[(index + 1) % owners.length] ?? one
        return [
          () => company.remove(one, one),
          () => company.change(one, one, 'viewer'),
          () => company.remove(one, next),
          () => company.change(one, next, 'clerk'),
          () => company.send(one, 'DELETE', `/users/${next.id}`),
        ]
      })
      const all = await Promise.all(steps.map((step) => step()))
      for (const { status, text } of all) expect(status, text).to.be.oneOf([200, 403, 404, 409])
      expect(await manager().countBy(Membership, { branch_id: branch.id, role: 'owner' })).to.equal(1)
    })

    async function makeSeveral(role: string, count: number): Promise<Account[]> {
      const made: Account[] = []
      for (let number = 0; number < count; number++) made.push(await company.makeMember(role))
      return made
    }
  })

  describe('are those to whom records refer', () => {
    let customer: Customer
    let clerk: Account & { membership: Membership }

    beforeEach(async () => {
      customer = await company.insert(Customer, { name: 'ours', branch_id: branch.id })
      clerk = await company.makeMember('clerk')
    })

    const createRental = (assignee_id: string) =>
      company.send(clerk, 'POST', company.at('/rentals'), {
        json: { number: '1', customer_id: customer.id, assignee_id },
      })
    const emails = async (user: Account, path: string) => {
      const { json } = await get(user, path)
      return (Array.isArray(json) ? json : json.users) as string[]
    }

    it('as an assignee', async () => {
      expect((await createRental(clerk.id)).status).to.equal(201)
      const outside = await createRental(stranger.id)
      expect(codesOf(outside)).to.deep.equal({ status: 422, codes: { assignee_id: ['reference'] } })
      const unknown = await createRental(newId())
      const own = ({ json }: SpecResponse) => ({ ...json, instance: '', request_id: '' })
      expect(own(outside)).to.deep.equal(own(unknown))
    })

    it('over the records that contain theirs', async () => {
      const rental = await createRental(clerk.id)
      const lines = company.at(`/rentals/${rental.json.id}/lines`)
      const create = (user_id: string) =>
        company.send(clerk, 'POST', lines, { json: { text: 'one', user_id } })
      expect((await create(owner.id)).status).to.equal(201)
      expect(codesOf(await create(stranger.id))).to.deep.equal({
        status: 422,
        codes: { user_id: ['reference'] },
      })
    })

    it('in forms, and nobody else', async () => {
      expect(await emails(clerk, company.at('/rentals/new'))).to.deep.equal([clerk.email, owner.email])
      expect(await emails(clerk, '/people')).to.deep.equal([clerk.email, owner.email])
      expect(await emails(stranger, '/people')).to.deep.equal([])
      const bonn = await company.makeBranch('Bonn', clerk)
      await company.join(stranger, 'viewer', bonn)
      expect(await emails(clerk, '/people')).to.deep.equal([clerk.email, owner.email, stranger.email])
      expect(await emails(clerk, company.at('/rentals/new'))).to.deep.equal([clerk.email, owner.email])
      expect(await emails(clerk, company.at('/rentals/new', bonn))).to.deep.equal([
        clerk.email,
        stranger.email,
      ])
    })

    it('also in a job', async () => {
      const codes: unknown[] = []
      await company.inJob(async (job) => {
        for (const { id } of [owner, stranger]) {
          const values = { number: '1', branch_id: branch.id, customer_id: customer.id, assignee_id: id }
          codes.push((await job.save(Object.assign(new Rental(), values)))?.codes)
        }
      })
      expect(codes).to.deep.equal([undefined, { assignee_id: ['reference'] }])
    })

    it('and are created with records of specs', async () => {
      const { factory } = company.site.recordsOf()
      const { branch_id, user_id } = await factory.make(Visit, { branch_id: branch.id })
      expect(await manager().findOneBy(Membership, { branch_id, user_id })).to.include({ role: 'viewer' })
      const strange = await factory.make(Visit, { branch_id: branch.id, user_id: stranger.id }).catch(String)
      expect(strange).to.contain('user_id: User does not exist.')
    })

    it('until they leave: a stored reference stays, and cannot be set again', async () => {
      const { json } = await createRental(clerk.id)
      const path = company.at(`/rentals/${json.id}`)
      await company.remove(owner, clerk)
      const put = (fields: object) => company.send(owner, 'PATCH', path, { json: fields })
      expect((await put({ number: '2', assignee_id: clerk.id })).status).to.equal(200)
      expect(await findCrossings(company.database)).to.deep.equal([])
      expect((await put({ assignee_id: owner.id })).status).to.equal(200)
      expect((await put({ assignee_id: clerk.id })).status).to.equal(422)
      const bonn = await company.makeBranch('Bonn', stranger)
      const theirs = await company.insert(Customer, { name: 'theirs', branch_id: bonn.id })
      await manager().update(Rental, json.id, { customer_id: theirs.id })
      expect(await findCrossings(company.database)).to.deep.equal([{ name: 'Rental.customer', count: 1 }])
    })
  })

  describe('that an application has as administrators', () => {
    it('have the highest role in every team, and are not members', async () => {
      const admin = await company.makeUser('admin', { admin: true })
      const customers = company.at('/customers')
      expect((await company.send(admin, 'POST', customers, { json: { name: 'x' } })).status).to.equal(201)
      expect((await get(admin, '/branches')).json).to.have.length(1)
      expect((await get(admin, company.at('/memberships'))).json).to.have.length(1)
      expect((await company.invite(admin, stranger.email, 'owner')).status).to.equal(201)
      expect((await company.accept(stranger)).status).to.equal(200)
      expect((await company.change(admin, owner, 'viewer')).status).to.equal(200)
      expect(codesOf(await company.remove(admin, stranger))).to.deep.include({ status: 409 })
    })

    it('are in each line of their log', async () => {
      const log = captureLog()
      const logged = teamsApplication(company.database, { logger: log.logger })
      const other = await Site.open(logged.app)
      const admin = await company.makeUser('admin', { admin: true })
      for (const user of [admin, owner])
        await other.get(company.at('/customers'), {
          accept: 'json',
          headers: { authorization: `Bearer ${user.bearer}` },
        })
      const lines = log.lines.filter(({ path }) => String(path).endsWith('customers'))
      expect(lines.map(({ administrator }) => administrator)).to.deep.equal([true, undefined])
      await other.close()
    })
  })

  describe('with a bearer token of one team', () => {
    let token: { bearer: string }
    let bonn: Branch

    beforeEach(async () => {
      bonn = await company.makeBranch('Bonn', owner)
      token = { bearer: await makeToken(company.database, owner, branch.id) }
    })

    it('have their role there alone', async () => {
      expect((await company.send(token, 'GET', company.at('/customers'))).status).to.equal(200)
      expect((await company.send(token, 'GET', company.at('/customers', bonn))).status).to.equal(404)
      for (const path of ['/branches', '/rentals', '/tokens', '/people'])
        expect((await company.send(token, 'GET', path)).status, path).to.equal(403)
      expect((await get(owner, company.at('/customers', bonn))).status).to.equal(200)
    })

    it('is made for a team of theirs', async () => {
      const make = (branch_id: string) => company.send(owner, 'POST', '/tokens', { json: { branch_id } })
      const bearer = (await make(bonn.id)).json.text
      expect((await company.send({ bearer }, 'GET', company.at('/customers', bonn))).status).to.equal(200)
      expect((await company.send({ bearer }, 'GET', company.at('/customers'))).status).to.equal(404)
      const theirs = await company.makeBranch('Cologne', stranger)
      for (const id of [theirs.id, newId()])
        expect(codesOf(await make(id))).to.deep.equal({ status: 422, codes: { branch_id: ['reference'] } })
    })

    it('have none when they leave, even if they come back', async () => {
      const second = await company.makeMember('owner')
      await company.remove(owner, owner)
      expect((await company.send(token, 'GET', company.at('/customers'))).status).to.equal(401)
      await company.invite(second, owner.email, 'clerk')
      expect((await company.accept(owner)).status).to.equal(200)
      expect((await company.send(token, 'GET', company.at('/customers'))).status).to.equal(401)
      expect((await get(owner, company.at('/customers'))).status).to.equal(200)
    })

    it('of an administrator are those of a member', async () => {
      const admin = await company.makeUser('admin', { admin: true })
      const bearer = await makeToken(company.database, admin, branch.id)
      expect((await company.send({ bearer }, 'GET', company.at('/customers'))).status).to.equal(401)
      await company.join(admin, 'viewer')
      expect((await company.send({ bearer }, 'GET', company.at('/customers', bonn))).status).to.equal(404)
      const json = { name: 'x' }
      expect((await company.send({ bearer }, 'POST', company.at('/customers'), { json })).status).to.equal(
        403,
      )
    })
  })

  it('who have left get 404 instead of the response to an earlier request with a key', async () => {
    const clerk = await company.makeMember('clerk')
    const create = (path: string) =>
      company.send(clerk, 'POST', path, {
        json: { name: path },
        headers: { 'Idempotency-Key': path.slice(0, 20) },
      })
    const [path = '', upper = ''] = [company.at('/customers'), company.at().toUpperCase()]
    const paths = [path, `${upper.replace('BRANCHES', 'branches')}/customers`]
    for (const one of paths) expect((await create(one)).status).to.equal(201)
    for (const one of paths) expect((await create(one)).headers.get('idempotent-replayed')).to.equal('true')
    await company.remove(owner, clerk)
    for (const one of paths) expect((await create(one)).status).to.equal(404)
    expect(await manager().countBy(Customer, {})).to.equal(2)
  })

  describe('change many records at once', () => {
    let bonn: Branch
    let ours: Item
    let theirs: Item

    beforeEach(async () => {
      bonn = await company.makeBranch('Bonn', stranger)
      ours = await company.insert(Item, { serial: '1', branch_id: branch.id })
      theirs = await company.insert(Item, { serial: '2', branch_id: bonn.id })
    })

    const importFile = (path: string, text: string) => {
      const form = new FormData()
      form.set('file', new File([text], 'file.csv'))
      return company.send(owner, 'POST', company.at(path), { form })
    }

    it('of their team: another id is 404 of the whole', async () => {
      const remove = (ids: string[]) =>
        company.send(owner, 'POST', company.at('/items/bulk/destroy'), { json: { ids } })
      expect((await remove([ours.id, theirs.id])).status).to.equal(404)
      expect(await manager().countBy(Item, {})).to.equal(2)
      expect((await remove([ours.id])).status).to.equal(200)
    })

    it('by keys that are looked up in their team', async () => {
      expect((await importFile('/items/import', 'serial\n1\n2\n')).json).to.include({
        created: 1,
        updated: 1,
      })
      expect(await manager().countBy(Item, { branch_id: branch.id })).to.equal(2)
      expect(await manager().countBy(Item, { branch_id: bonn.id })).to.equal(1)
    })

    it('by references that are looked up in their team', async () => {
      const customer = await company.insert(Customer, { name: 'known', branch_id: branch.id })
      for (const name of ['known', 'theirs']) await company.insert(Customer, { name, branch_id: bonn.id })
      const known = await importFile('/rentals/import', 'number,customer.name\n1,known\n')
      expect(known.json).to.include({ created: 1 })
      expect(await manager().findOneBy(Rental, {})).to.include({ customer_id: customer.id })
      const [foreign, unknown] = [
        await importFile('/rentals/import', 'number,customer.name\n1,theirs\n'),
        await importFile('/rentals/import', 'number,customer.name\n1,nobody\n'),
      ]
      expect(foreign?.status).to.equal(422)
      const shape = (text = '') => text.replaceAll(/theirs|nobody/g, '').replaceAll(/[\w-]{20,}/g, '')
      expect(shape(foreign?.text)).to.equal(shape(unknown?.text))
    })

    it('that are exported for their team', async () => {
      const { text } = await company.send(owner, 'GET', company.at('/items.csv'), { accept: 'text/csv' })
      expect(text.trim().split(/\s+/)).to.have.length(2)
    })
  })

  describe('delete a team', () => {
    it('without records, with its members and invitations', async () => {
      await company.invite(owner, stranger.email, 'clerk')
      await company.makeMember('viewer')
      expect((await company.send(owner, 'DELETE', company.at())).status).to.equal(200)
      expect(await manager().countBy(Membership, {})).to.equal(0)
    })

    it('that they have emptied', async () => {
      const customer = await company.insert(Customer, { name: 'one', branch_id: branch.id })
      const item = await company.insert(Item, { serial: '1', branch_id: branch.id })
      const rental = Object.assign(new Rental(), { number: '1', branch_id: branch.id })
      await manager().save(Object.assign(rental, { customer_id: customer.id, items: [item] }))
      let after_id: string | null = null
      for (let number = 0; number < 3; number++)
        after_id = (await company.insert(Line, { text: 'x', rental_id: rental.id, after_id })).id
      for (const deleted_at of [null, new Date()])
        await company.insert(Visit, { branch_id: branch.id, user_id: owner.id, deleted_at })
      const bonn = await company.makeBranch('Bonn', owner)
      await company.insert(Customer, { name: 'theirs', branch_id: bonn.id })
      expect((await company.send(owner, 'DELETE', company.at())).status).to.equal(409)
      const counts: number[] = []
      const empty = () =>
        company.inJob(async (job) => {
          const team = await job.find(Branch, branch.id)
          counts.push(await company.made.branches.empty(job, team))
        })
      await empty()
      await empty()
      expect(counts).to.deep.equal([8, 0])
      expect(await manager().countBy(Customer, {})).to.equal(1)
      expect((await company.send(owner, 'DELETE', company.at())).status).to.equal(200)
    })

    it('not, if a record of another team refers to it', async () => {
      const bonn = await company.makeBranch('Bonn', owner)
      const customer = await company.insert(Customer, { name: 'one', branch_id: branch.id })
      await company.insert(Rental, { number: '1', branch_id: bonn.id, customer_id: customer.id })
      let status: unknown
      await company.inJob(async (job) => {
        const team = await job.find(Branch, branch.id)
        status = await company.made.branches
          .empty(job, team)
          .catch((error: { status: number }) => error.status)
      })
      expect(status).to.equal(409)
    })

    it('a thousand records at a time', async () => {
      const all = Array.from({ length: 1002 }, (_, index) => ({
        id: newId(),
        serial: `${index}`,
        branch_id: branch.id,
      }))
      for (let first = 0; first < 1002; first += 334)
        await manager().insert(Item, all.slice(first, first + 334))
      const counts: number[] = []
      await company.inJob(async (job) => {
        const team = await job.find(Branch, branch.id)
        for (let turn = 0; turn < 3; turn++) counts.push(await company.made.branches.empty(job, team))
      })
      expect(counts).to.deep.equal([1000, 2, 0])
    })
  })
})
