import { expect } from 'chai'
import { newId } from '../../src/data/ids.js'
import type { Database, Model } from '../../src/index.js'
import {
  behavior,
  Branch,
  Customer,
  Label,
  Rental,
  rentalApplication,
  rentalDatabase,
} from '../support/applications/branches.js'
import { Site } from '../support/site.js'

describe('References below a parent', () => {
  let database: Database
  let site: Site
  /** The branches of Ada and Bob, each with a customer and a label. */
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
    site = await Site.open(rentalApplication(database))
  })

  afterEach(async () => {
    Object.assign(behavior, { hook: undefined, before: undefined })
    await site.close()
    await database.close()
  })

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

  const as = (user: string, more: object = {}) => ({ accept: 'json', headers: { 'X-User': user }, ...more })
  const rentals = ({ branch }: Tree) => `/branches/${branch.id}/rentals`

  it('offers the records of the parent in the path', async () => {
    for (const [tree, user] of [
      [ada, 'ada'],
      [bob, 'bob'],
    ] as const) {
      const { json } = await site.get(`${rentals(tree)}/new`, as(user))
      expect(json).to.deep.equal({
        customers: [`customer of ${user}`],
        labels: [`label of ${user}`],
        branches: [`branch of ${user}`],
        unavailable: [],
      })
    }
  })

  for (const format of ['json', 'form', 'xml'] as const)
    it(`rejects a key to another branch in ${format} as one that does not exist`, async () => {
      const send = async (fields: Record<string, string>) => {
        const body = format === 'xml' ? { xml: { rental: fields } } : { [format]: fields }
        const response = await site.post(rentals(ada), as('ada', body))
        return {
          status: response.status,
          body: response.text.replace(response.headers.get('x-request-id') ?? '', ''),
        }
      }
      const unknown = await send({ number: '2', customer_id: newId() })
      expect(unknown.status).to.equal(422)
      expect(unknown.body).to.contain('Customer does not exist.')
      expect(await send({ number: '2', customer_id: bob.customer.id })).to.deep.equal(unknown)
      expect((await send({ number: '2', customer_id: ada.customer.id })).status).to.equal(201)
      expect(await database.manager.countBy(Rental, { number: '2' })).to.equal(1)
    })
})
