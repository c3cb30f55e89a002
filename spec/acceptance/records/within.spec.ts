import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { newId } from '../../../src/models/ids.js'
import { enclosuresOf } from '../../../src/records/within.js'
import type { App, Context, Database, JobContext, Model } from '../../../src/index.js'
import { jobQueue } from '../../../src/jobs/index.js'
import { captureLog } from '../../../src/testing/index.js'
import {
  behavior,
  Branch,
  Customer,
  Label,
  Line,
  Rental,
  rentalApplication,
  rentalDatabase,
  Work,
} from '../../support/applications/branches.js'
import { Site, type SpecResponse } from '../../support/site.js'

describe('References below a parent', () => {
  let database: Database
  let site: Site
  let app: App
  /** The branches of Ada and Bob, each with a customer, a label and a rental. */
  let ada: Tree
  let bob: Tree

  interface Tree {
    branch: Branch
    customer: Customer
    label: Label
    rental: Rental
  }

  beforeEach(async () => {
    database = await rentalDatabase()
    ada = await plant('ada')
    bob = await plant('bob')
    app = rentalApplication(database, declareOwn)
    site = await Site.open(app)
  })

  afterEach(async () => {
    for (const name of Object.keys(behavior)) Reflect.deleteProperty(behavior, name)
    await site.close()
    await database.close()
  })

  /** Routes whose handlers use the context directly. */
  function declareOwn(own: App): void {
    own.post('/do', async (ctx) => {
      const result = await act.current?.(ctx)
      ctx.body ??= result ?? ''
    })
  }

  /** The work of the next request that `within` sends. */
  const act: { current?: ((ctx: Context) => unknown) | undefined } = {}

  /** Runs work in a request of a user. */
  async function within(user: string, work: (ctx: Context) => unknown): Promise<SpecResponse> {
    act.current = work
    return site.post('/do', as(user))
  }

  async function insert<T extends Model>(model: new () => T, values: Partial<T>): Promise<T> {
    return database.manager.save(Object.assign(new model(), values))
  }

  async function plant(user: string): Promise<Tree> {
    const branch = await insert(Branch, { user_id: user, name: `branch of ${user}`, slug: user })
    const branch_id = branch.id
    const customer = await insert(Customer, { name: `customer of ${user}`, branch_id })
    const label = await insert(Label, { name: `label of ${user}`, branch_id })
    const rental = await insert(Rental, { number: `1 of ${user}`, branch_id, customer_id: customer.id })
    return { branch, customer, label, rental }
  }

  /** Writes a key by SQL, as an earlier version or another program has stored it. */
  async function write<T extends Model>(model: new () => T, id: string, values: object): Promise<void> {
    await database.manager.update(model, id, values)
  }

  const link = (rental: Rental, label: Label) =>
    database.manager.insert('rentals_labels', { rental_id: rental.id, label_id: label.id })

  const as = (user: string, more: object = {}) => ({ accept: 'json', headers: { 'X-User': user }, ...more })
  const rentals = ({ branch }: Tree) => `/branches/${branch.id}/rentals`
  const path = (tree: Tree) => `${rentals(tree)}/${tree.rental.id}`
  const stored = ({ id }: { id: string }) => database.manager.findOneByOrFail(Rental, { id })
  const errorsOf = ({ status, json }: SpecResponse) => ({ status, errors: json.errors, codes: json.codes })
  const reference = (key: string, name: string) => ({
    status: 422,
    errors: { [key]: [`${name} does not exist.`] },
    codes: { [key]: ['reference'] },
  })
  const fixed = (key: string, name: string) => ({
    status: 422,
    errors: { [key]: [`${name} cannot be changed.`] },
    codes: { [key]: ['fixed'] },
  })

  /** Returns the statements of some work, without ids. */
  async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
    const { logger } = database
    const statements: string[] = []
    database.logger = Object.assign(Object.create(logger), {
      logQuery: (sql: string) => statements.push(sql),
    })
    try {
      await work()
    } finally {
      database.logger = logger
    }
    return statements
  }

  describe('are offered', () => {
    it('from the parent in the path', async () => {
      for (const [tree, user] of [
        [ada, 'ada'],
        [bob, 'bob'],
      ] as const)
        for (const form of [`${rentals(tree)}/new`, `${path(tree)}/lines/new`])
          expect((await site.get(form, as(user))).json).to.deep.equal({
            customers: [`customer of ${user}`],
            labels: [`label of ${user}`],
            branches: [`branch of ${user}`],
            unavailable: [],
          })
    })

    const places: Record<string, () => string> = {
      'whose path has another property': () => '/shops/ada/rentals',
      'that is a singular resource': () => '/office/rentals',
      'of a group': () => `/branches/${ada.branch.id}/special/offers`,
    }
    for (const [name, at] of Object.entries(places))
      it(`from a parent ${name}`, async () => {
        await insert(Branch, { user_id: 'carl', name: 'third', slug: 'third' })
        await write(Branch, bob.branch.id, { user_id: at().startsWith('/office') ? 'bob' : 'ada' })
        const { json } = await site.get(`${at()}/new`, as('ada'))
        expect(json.customers).to.deep.equal(['customer of ada'])
        for (const [customer, status] of [
          [bob.customer, 422],
          [ada.customer, 201],
        ] as const) {
          const fields = { number: '2', customer_id: customer.id }
          expect((await site.post(at(), as('ada', { json: fields }))).status).to.equal(status)
        }
      })

    it('from one of two parents that the user may see', async () => {
      await insert(Branch, { user_id: 'ada', name: 'second', slug: 'second' })
      await write(Branch, bob.branch.id, { user_id: 'ada' })
      const { json } = await site.get(`${rentals(ada)}/new`, as('ada'))
      expect(json.customers).to.deep.equal(['customer of ada'])
      expect(json.branches).to.deep.equal(['branch of ada', 'branch of bob', 'second'])
    })

    it('without the name of a present one that is outside of the parent', async () => {
      await write(Rental, ada.rental.id, { customer_id: bob.customer.id })
      const { json } = await site.get(`${path(ada)}/edit`, as('ada'))
      expect(json).to.deep.include({ customers: ['customer of ada'], unavailable: [bob.customer.id] })
    })

    it('from everywhere, if the model says that its records may refer to anything', async () => {
      await write(Branch, bob.branch.id, { user_id: 'ada' })
      const quotes = `/branches/${ada.branch.id}/quotes`
      const { json } = await site.get(`${quotes}/new`, as('ada'))
      expect(json.customers).to.deep.equal(['customer of ada', 'customer of bob'])
      const fields = { number: '2', customer_id: bob.customer.id }
      expect((await site.post(quotes, as('ada', { json: fields }))).status).to.equal(201)
    })

    it('of what the policies show, where the path names no parent', async () => {
      const names = async (user: string, more: (ctx: Context) => { for: Model }[] = () => []) => {
        const work = async (ctx: Context) => (await ctx.choices(Customer, ...more(ctx))).records
        return (await within(user, work)).json.map(({ name }: Customer) => name).toSorted()
      }
      expect(await names('ada')).to.deep.equal(['customer of ada'])
      await write(Branch, bob.branch.id, { user_id: 'ada' })
      expect(await names('ada')).to.deep.equal(['customer of ada', 'customer of bob'])
      expect(await names('nobody')).to.deep.equal([])
      const line = Object.assign(new Line(), { rental_id: bob.rental.id })
      for (const record of [bob.rental, bob.branch, line, bob.customer])
        expect(await names('ada', () => [{ for: record }])).to.deep.equal(['customer of bob'])
      expect(await names('ada', () => [{ for: new Rental() }])).to.deep.equal([])
    })
  })

  describe('of a request', () => {
    for (const format of ['json', 'form', 'xml'] as const)
      it(`are rejected in ${format} like unknown ones, with the same statements`, async () => {
        const send = async (fields: Record<string, string>) => {
          const body = format === 'xml' ? { xml: { rental: fields } } : { [format]: fields }
          let response: SpecResponse | undefined
          const statements = await statementsOf(async () => {
            response = await site.post(rentals(ada), as('ada', body))
          })
          const id = response?.headers.get('x-request-id') ?? ''
          return { status: response?.status, text: response?.text.replace(id, ''), statements }
        }
        const unknown = await send({ number: '2', customer_id: newId() })
        expect(unknown.status).to.equal(422)
        expect(unknown.text).to.contain('Customer does not exist.')
        expect(await send({ number: '2', customer_id: bob.customer.id })).to.deep.equal(unknown)
        const own = { number: '2', customer_id: ada.customer.id }
        const wrongPayer = await send({ ...own, payer_id: newId() })
        expect(await send({ ...own, payer_id: bob.customer.id })).to.deep.equal(wrongPayer)
        expect(wrongPayer.status).to.equal(422)
        expect((await send(own)).status).to.equal(201)
        expect(await database.manager.countBy(Rental, { number: '2' })).to.equal(1)
      })

    it('are checked by one statement for each model', async () => {
      const json = {
        number: '2',
        customer_id: ada.customer.id,
        payer_id: ada.customer.id,
        label_ids: [ada.label.id],
      }
      const statements = await statementsOf(() => site.post(rentals(ada), as('ada', { json })))
      const checks = statements.filter((sql) => /^SELECT .*(customers|labels)/i.test(sql))
      // The last one is the check of links, which exists for every model.
      expect(checks).to.have.length(3)
    })

    it('are rejected in lists', async () => {
      const json = { number: '2', customer_id: ada.customer.id, label_ids: [ada.label.id, bob.label.id] }
      const response = await site.post(rentals(ada), as('ada', { json }))
      const label_ids = ['Labels contains a record that does not exist.']
      expect(errorsOf(response)).to.deep.equal({
        status: 422,
        errors: { label_ids },
        codes: { label_ids: ['references'] },
      })
    })

    it('are rejected when a record is changed', async () => {
      const json = { customer_id: bob.customer.id }
      for (const method of ['put', 'patch'] as const)
        expect(errorsOf(await site[method](path(ada), as('ada', { json })))).to.deep.equal(
          reference('customer_id', 'Customer'),
        )
      expect((await stored(ada.rental)).customer_id).to.equal(ada.customer.id)
    })

    it('may be in the path of a handler', async () => {
      const give = (id: string) => site.put(`${path(ada)}/customer/${id}`, as('ada', { json: {} }))
      const other = await insert(Customer, { name: 'other', branch_id: ada.branch.id })
      expect((await give(other.id)).status).to.equal(200)
      expect(errorsOf(await give(bob.customer.id))).to.deep.equal(reference('customer_id', 'Customer'))
    })

    it('may be in another branch of the user only if nothing is in common', async () => {
      await write(Branch, bob.branch.id, { user_id: 'ada' })
      const json = { number: '2', customer_id: ada.customer.id, from_branch_id: bob.branch.id }
      expect((await site.post(rentals(ada), as('ada', { json }))).status).to.equal(201)
      const other = { ...json, customer_id: bob.customer.id }
      expect(errorsOf(await site.post(rentals(ada), as('ada', { json: other })))).to.deep.equal(
        reference('customer_id', 'Customer'),
      )
    })

    it('are checked over several parents', async () => {
      const lines = `${path(ada)}/lines`
      const theirs = await insert(Line, { text: 'theirs', rental_id: bob.rental.id })
      for (const [key, name, id] of [
        ['label_id', 'Label', bob.label.id],
        ['customer_id', 'Customer', bob.customer.id],
        ['after_id', 'After', theirs.id],
      ] as const) {
        const json = { text: 'one', [key]: id }
        expect(errorsOf(await site.post(lines, as('ada', { json })))).to.deep.equal(reference(key, name))
      }
      const json = { text: 'one', label_id: ada.label.id, customer_id: ada.customer.id }
      const made = await site.post(lines, as('ada', { json }))
      expect(made.status).to.equal(201)
      const next = { text: 'two', after_id: made.json.id }
      expect((await site.post(lines, as('ada', { json: next }))).status).to.equal(201)
      // The nearest parent counts: a line of another rental of the same branch is outside, too.
      const rental = await insert(Rental, {
        number: '2',
        branch_id: ada.branch.id,
        customer_id: ada.customer.id,
      })
      const other = await site.post(`${rentals(ada)}/${rental.id}/lines`, as('ada', { json: next }))
      expect(errorsOf(other)).to.deep.equal(reference('after_id', 'After'))
    })

    it('must be in the record itself, if their model is', async () => {
      const branch = `/branches/${ada.branch.id}`
      const put = (id: string) => site.put(branch, as('ada', { json: { main_customer_id: id } }))
      expect(errorsOf(await put(bob.customer.id))).to.deep.equal(
        reference('main_customer_id', 'Main customer'),
      )
      expect((await put(ada.customer.id)).status).to.equal(200)
      const response = await within('ada', (ctx) => {
        const made = { user_id: 'ada', name: 'new', slug: 'new', main_customer_id: ada.customer.id }
        return ctx.unscoped.save(Object.assign(new Branch(), made))
      })
      expect(response.json.fields ?? response.json).to.not.equal(null)
      expect(await database.manager.countBy(Branch, { name: 'new' })).to.equal(0)
    })
  })

  describe('that are wrong already', () => {
    beforeEach(async () => {
      await write(Rental, ada.rental.id, { customer_id: bob.customer.id })
      await link(ada.rental, bob.label)
    })

    it('do not prevent an edit of another attribute', async () => {
      expect((await site.patch(path(ada), as('ada', { json: { number: '5' } }))).status).to.equal(200)
      const form = { number: '6', customer_id: bob.customer.id, label_ids: [ada.label.id] }
      expect((await site.patch(path(ada), as('ada', { form }))).status).to.equal(200)
      expect(await stored(ada.rental)).to.include({ number: '6', customer_id: bob.customer.id })
    })

    it('can be replaced, and not be set again', async () => {
      const put = (customer_id: string) => site.put(path(ada), as('ada', { json: { customer_id } }))
      expect((await put(ada.customer.id)).status).to.equal(200)
      expect((await put(bob.customer.id)).status).to.equal(422)
    })

    it('are not shown', async () => {
      const shown = (await site.get(path(ada), as('ada'))).json
      expect(shown).to.include({ customer: null }).and.to.deep.include({ labels: [], label_ids: [] })
      const included = await site.get(`${rentals(ada)}?include=customer,labels`, as('ada'))
      expect(included.json[0]).to.include({ customer: null }).and.to.deep.include({ labels: [] })
    })

    it('do not tell by a filter what the other branch has', async () => {
      const count = async (query: string) =>
        (await site.get(`${rentals(ada)}?${query}`, as('ada'))).json.length as number
      expect(await count('customer_name=customer+of+bob')).to.equal(0)
      expect(await count('customer_name=customer+of+ada')).to.equal(0)
      await write(Rental, ada.rental.id, { customer_id: ada.customer.id })
      expect(await count('customer_name=customer+of+ada')).to.equal(1)
      expect(await count(`customer_id=${ada.customer.id}`)).to.equal(1)
      expect(await count(`customer_id=${bob.customer.id}`)).to.equal(await count(`customer_id=${newId()}`))
    })
  })

  describe('that are not bound', () => {
    const setters: Record<string, (rental: Rental) => void> = {
      'a key': (rental) => (rental.customer_id = bob.customer.id),
      'a record': (rental) => (rental.customer = bob.customer),
      ids: (rental) => (rental.label_ids = [bob.label.id]),
    }
    for (const [name, set] of Object.entries(setters)) {
      const codes = name === 'ids' ? { label_ids: ['references'] } : { customer_id: ['reference'] }

      it(`are rejected when a handler sets ${name}`, async () => {
        behavior.before = (_ctx, record) => set(record as Rental)
        const json = { number: '2', customer_id: ada.customer.id }
        expect(errorsOf(await site.post(rentals(ada), as('ada', { json })))).to.deep.include({ codes })
        expect(errorsOf(await site.put(path(ada), as('ada', { json })))).to.deep.include({ codes })
      })

      it(`are rejected when a hook sets ${name}`, async () => {
        behavior.hook = set
        const json = { number: '2', customer_id: ada.customer.id }
        expect(errorsOf(await site.post(rentals(ada), as('ada', { json })))).to.deep.include({ codes })
        expect(errorsOf(await site.put(path(ada), as('ada', { json })))).to.deep.include({ codes })
      })

      it(`are rejected when a job sets ${name}`, async () => {
        const codesOf = async (job: JobContext, record: Rental) => {
          set(record)
          return (await job.save(record))?.codes
        }
        const results: unknown[] = []
        behavior.perform = async (job) => {
          const values = { number: '2', branch_id: ada.branch.id, customer_id: ada.customer.id }
          results.push(await codesOf(job, Object.assign(new Rental(), values)))
          results.push(await codesOf(job, await job.find(Rental, ada.rental.id)))
        }
        const jobs = app.extension(jobQueue)
        await jobs?.enqueue(database.manager, Work, {})
        await jobs?.drain()
        expect(results).to.deep.equal([codes, codes])
      })
    }

    it('are rejected although the related record is loaded', async () => {
      behavior.before = async (ctx, record) => {
        await ctx.load(record as Rental, 'customer')
        ;(record as Rental).customer_id = bob.customer.id
      }
      expect(errorsOf(await site.put(path(ada), as('ada', { json: { number: '2' } })))).to.deep.equal(
        reference('customer_id', 'Customer'),
      )
    })

    it('are rejected by ctx.unscoped.save, too', async () => {
      const { json } = await within('ada', async (ctx) => {
        const rental = await ctx.unscoped.find(Rental, ada.rental.id)
        rental.customer_id = bob.customer.id
        return (await ctx.unscoped.save(rental))?.codes
      })
      expect(json).to.deep.equal({ customer_id: ['reference'] })
    })

    it('need the key of the parent', async () => {
      const { json } = await within('ada', async (ctx) => {
        const values = { number: '2', customer_id: bob.customer.id }
        return (await ctx.save(Object.assign(new Rental(), values)))?.codes
      })
      expect(json).to.deep.equal({ branch_id: ['present'] })
    })
  })

  describe('of models without a policy', () => {
    it('have the scope of what they are within', async () => {
      const { json } = await within('ada', async (ctx) => ({
        customers: (await ctx.findAll(Customer)).map(({ name }) => name),
        lines: (await ctx.findAll(Line)).map(({ text }) => text),
        page: (await ctx.paginate(Rental)).records.map(({ number }) => number),
      }))
      expect(json).to.deep.equal({ customers: ['customer of ada'], lines: [], page: ['1 of ada'] })
      const found = await within('ada', (ctx) => ctx.find(Customer, bob.customer.id))
      const unknown = await within('ada', (ctx) => ctx.find(Customer, newId()))
      expect([found.status, unknown.status]).to.deep.equal([404, 404])
      const line = await insert(Line, { text: 'theirs', rental_id: bob.rental.id })
      expect((await within('ada', (ctx) => ctx.find(Line, line.id))).status).to.equal(404)
      expect((await within('bob', (ctx) => ctx.find(Line, line.id))).status).to.equal(200)
      expect((await within('ada', (ctx) => ctx.unscoped.find(Line, line.id))).status).to.equal(200)
    })

    it('need no condition below a parent that was found', async () => {
      const statements = await statementsOf(() => site.get(path(ada), as('ada')))
      const finding = statements.find((sql) => /FROM .rentals. /.test(sql))
      expect(finding)
        .to.match(/rentals/)
        .and.not.to.match(/JOIN/)
    })
  })

  it('are checked for the models of the paths', () => {
    const names = [Branch, Customer, Label, Rental, Line].map((model) =>
      enclosuresOf(database.getMetadata(model)).map(({ relation }) => relation.propertyName),
    )
    expect(names).to.deep.equal([[], ['branch'], ['branch'], ['branch'], ['rental']])
  })

  describe('and a record that would move', () => {
    beforeEach(() => write(Branch, bob.branch.id, { user_id: 'ada' }))

    const move = <T extends Model>(
      model: new () => T,
      id: string,
      values: object,
      options = { move: true },
    ) =>
      within('ada', async (ctx) => {
        const errors = await ctx.save(Object.assign(await ctx.find<Model>(model, id), values), options)
        return errors ? ctx.respond(errors) : undefined
      })

    it('stays where it is', async () => {
      behavior.before = (_ctx, record) => Object.assign(record, { branch_id: bob.branch.id })
      expect(errorsOf(await site.put(path(ada), as('ada', { json: { number: '2' } })))).to.deep.equal(
        fixed('branch_id', 'Branch'),
      )
    })

    it('stays, and the log of development says how it moves', async () => {
      behavior.before = (_ctx, record) => Object.assign(record, { branch_id: bob.branch.id })
      const { logger, lines } = captureLog()
      const other = await Site.open(rentalApplication(database, undefined, { env: 'development', logger }))
      expect((await other.put(path(ada), as('ada', { json: { number: '2' } }))).status).to.equal(422)
      expect(lines.map(({ msg }) => msg)).to.include(
        'branch_id of a saved Rental was changed, but a Rental stays where it is. ' +
          'To move it, call ctx.save(record, { move: true }).',
      )
      await other.close()
    })

    it('moves if the handler says so, with all its references', async () => {
      const values = { branch_id: bob.branch.id }
      const response = await move(Rental, ada.rental.id, values)
      expect([response.status, response.json.codes]).to.deep.equal([422, { customer_id: ['reference'] }])
      await link(ada.rental, ada.label)
      const both = { ...values, customer_id: bob.customer.id }
      const linked = await move(Rental, ada.rental.id, both)
      expect([linked.status, linked.json.codes]).to.deep.equal([422, { label_ids: ['references'] }])
      expect((await move(Rental, ada.rental.id, { ...both, label_ids: [] })).status).to.equal(200)
      expect(await stored(ada.rental)).to.include(both)
    })

    it('stays while records are in it or refer to it', async () => {
      const values = { branch_id: bob.branch.id, customer_id: bob.customer.id }
      await insert(Line, { text: 'inside', rental_id: ada.rental.id })
      const inside = await move(Rental, ada.rental.id, values)
      expect([inside.status, inside.json.codes]).to.deep.equal([409, { base: ['immovable'] }])
      const referred = await move(Customer, ada.customer.id, { branch_id: bob.branch.id })
      expect(referred.status).to.equal(409)
      await link(ada.rental, ada.label)
      expect((await move(Label, ada.label.id, { branch_id: bob.branch.id })).status).to.equal(409)
      const free = await insert(Label, { name: 'free', branch_id: ada.branch.id })
      expect((await move(Label, free.id, { branch_id: bob.branch.id })).status).to.equal(200)
    })

    it('moves only to a parent that the user may see', async () => {
      await write(Branch, bob.branch.id, { user_id: 'bob' })
      const free = await insert(Label, { name: 'free', branch_id: ada.branch.id })
      const response = await move(Label, free.id, { branch_id: bob.branch.id })
      expect(errorsOf(response)).to.deep.equal(reference('branch_id', 'Branch'))
    })

    it('waits for a request that has checked a reference to it, or that request waits for it', async () => {
      const free = await insert(Customer, { name: 'free', branch_id: ada.branch.id })
      const json = { number: 'beside', customer_id: free.id }
      let moving: Promise<SpecResponse> | undefined
      // Without locks, the move would end meanwhile.
      behavior.hook = async () => {
        moving = move(Customer, free.id, { branch_id: bob.branch.id })
        await Promise.race([moving, delay(200)])
      }
      expect((await site.post(rentals(ada), as('ada', { json }))).status).to.equal(201)
      expect((await moving)?.status).to.equal(409)

      behavior.hook = undefined
      await database.manager.delete(Rental, { customer_id: free.id })
      let creating: Promise<SpecResponse> | undefined
      const moved = await within('ada', async (ctx) => {
        const customer = Object.assign(await ctx.find(Customer, free.id), { branch_id: bob.branch.id })
        const errors = await ctx.save(customer, { move: true })
        creating = site.post(rentals(ada), as('ada', { json }))
        await Promise.race([creating, delay(200)])
        return { errors: errors?.codes ?? 'none' }
      })
      expect(moved.json).to.deep.equal({ errors: 'none' })
      expect(errorsOf((await creating)!)).to.deep.equal(reference('customer_id', 'Customer'))
    })

    it('asks the policy for an update of the old place, and for a creation in the new one', async () => {
      const [from, to] = [ada.branch.id, bob.branch.id]
      for (const [limits, status] of [
        [{ mayNotUpdateIn: from }, 403],
        [{ mayNotCreateIn: to }, 403],
        [{ mayNotUpdateIn: to, mayNotCreateIn: from }, 200],
      ] as const) {
        Object.assign(behavior, { mayNotUpdateIn: undefined, mayNotCreateIn: undefined }, limits)
        const free = await insert(Label, { name: 'free', branch_id: from })
        expect((await move(Label, free.id, { branch_id: to })).status).to.equal(status)
        const { branch_id } = await database.manager.findOneByOrFail(Label, { id: free.id })
        expect(branch_id).to.equal(status === 200 ? to : from)
      }
    })

    it('needs the policy like any other, even if its model is within nothing', async () => {
      const save = (options?: { move: boolean }) =>
        within('bob', async (ctx) => {
          const branch = await ctx.unscoped.find(Branch, ada.branch.id)
          return (await ctx.save(Object.assign(branch, { name: 'changed' }), options))?.codes
        })
      expect([(await save()).status, (await save({ move: true })).status]).to.deep.equal([500, 500])
      expect(await database.manager.countBy(Branch, { name: 'changed' })).to.equal(0)
    })

    it('leaves no reference behind that requests create at the same time', async () => {
      const free = await insert(Customer, { name: 'free', branch_id: ada.branch.id })
      const json = { number: 'beside', customer_id: free.id }
      const creates = () => Array.from({ length: 25 }, () => site.post(rentals(ada), as('ada', { json })))
      const responses = await Promise.all([
        ...creates(),
        move(Customer, free.id, { branch_id: bob.branch.id }),
        ...creates(),
      ])
      expect(responses.filter(({ status }) => ![200, 201, 409, 422].includes(status))).to.deep.equal([])
      const { branch_id } = await database.manager.findOneByOrFail(Customer, { id: free.id })
      const crossing = await database.manager.findBy(Rental, { customer_id: free.id })
      expect(crossing.filter((rental) => rental.branch_id !== branch_id)).to.deep.equal([])
    })
  })
})
