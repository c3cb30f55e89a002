import { expect } from 'chai'
import { engine } from '../support/engine.js'
import { HeardLetter, Letter, newRecord, openOffice, type Office } from '../support/applications/letters.js'

const accept = 'application/json'

/** The number of times that each status occurs. */
function counted(responses: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe(`Records with a version on ${engine}`, () => {
  let office: Office

  beforeEach(async () => {
    office = await openOffice()
  })

  afterEach(() => office.site.close())

  const models = [
    ['/letters', Letter, 'lock_version'],
    ['/heard', HeardLetter, 'revision'],
  ] as const

  for (const [path, model, version] of models) {
    describe(`beneath ${path}`, () => {
      it('begin with version 1, and count each change that a request saves', async () => {
        const { site } = office
        const created = await site.post(path, { accept, json: { title: 'one' } })
        expect(created.status).to.equal(201)
        expect(created.json).to.include({ [version]: 1 })
        const item = `${path}/${created.json.id}`
        expect((await site.put(item, { accept, json: { title: 'two' } })).json).to.include({ [version]: 2 })
        expect((await site.put(item, { accept, json: { title: 'two' } })).json).to.include({ [version]: 2 })
        expect((await site.get(item, { accept })).json).to.include({ title: 'two', [version]: 2 })
      })

      it('let one of 200 parallel PUTs with the same tag change the record', async () => {
        const { site, database } = office
        const { id } = await newRecord(database, model as typeof Letter)
        const { headers } = await site.get(`${path}/${id}`, { accept })
        const tag = { 'If-Match': headers.get('etag') ?? '' }
        const responses = await Promise.all(
          Array.from({ length: 200 }, (_, index) =>
            site.put(`${path}/${id}`, { accept, json: { title: `title ${index}` }, headers: tag }),
          ),
        )
        expect(counted(responses)).to.deep.equal({ 200: 1, 412: 199 })
        const winner = responses.find(({ status }) => status === 200)
        expect((await site.get(`${path}/${id}`, { accept })).json).to.deep.equal(winner?.json)
      })

      it('lose none of 200 parallel changes that read, compute and save', async () => {
        const { site, database } = office
        const { id } = await newRecord(database, model as typeof Letter)
        const responses = await Promise.all(
          Array.from({ length: 200 }, () => site.put(`${path}/${id}/count`, { accept })),
        )
        const { 200: done = 0, 503: rejected = 0 } = counted(responses)
        expect(done + rejected).to.equal(200)
        expect((await site.get(`${path}/${id}`, { accept })).json).to.include({ count: done })
      })
    })
  }
})
