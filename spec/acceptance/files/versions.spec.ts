import { expect } from 'chai'
import { itemsApp, openItems } from '../../support/applications/items.js'
import { formWith, png } from '../../support/file-contents.js'
import { Site, type SpecResponse } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

describe('The version of a record with files', () => {
  let site: Site
  let item: SpecResponse['json']

  before(async () => {
    site = await Site.open(itemsApp(await openItems(), temporaryFolder()).app)
  })
  after(() => site.close())
  beforeEach(async () => {
    await site.get('/items/new')
    const form = formWith({ name: 'Lamp' }, [
      ['photo', 'lamp.png', png(1, 1, 1)],
      ['documents', 'a.txt', 'a'],
      ['documents', 'b.txt', 'b'],
    ])
    item = (await site.post('/items', { form, accept: 'json' })).json
  })

  const send = (fields: Record<string, string | string[]>, photo?: string, accept = 'json') => {
    const files = photo === undefined ? [] : [['photo', photo, png(1, 1, 2)] as const]
    return site.put(`/items/${item.id}`, { form: formWith(fields, files), accept })
  }

  it('is raised by another file, and by a list that changes', async () => {
    const [a, b] = item.documents.map(({ id }: { id: string }) => id)
    const versions = [item.lock_version]
    for (const [documents, photo] of [[[b, a]], [['', a]], [['', a]], [['', a], 'other.png']] as const)
      versions.push((await send({ documents: [...documents] }, photo)).json.lock_version)
    expect(versions).to.deep.equal([1, 2, 3, 3, 4])
  })

  it('makes a form out of date, which keeps the new file and names the current one', async () => {
    expect((await send({}, 'other.png')).status).to.equal(200)
    const stale = await send({ lock_version: '1' }, 'mine.png', 'html')
    expect(stale.status).to.equal(409)
    expect(stale.text).to.contain('Now: other.png').and.to.contain('mine.png')
    const [, photo = ''] = /name="photo" value="(file_[^"]+)"/.exec(stale.text) ?? []
    const saved = await send({ lock_version: '2', photo })
    expect([saved.status, saved.json.photo.filename]).to.deep.equal([200, 'mine.png'])
  })

  it('is that of a list, too', async () => {
    const [a] = item.documents.map(({ id }: { id: string }) => id)
    await send({ documents: ['', a] })
    const stale = await send({ lock_version: '1', documents: '' }, undefined, 'html')
    expect(stale.status).to.equal(409)
    expect(stale.text).to.contain('Now: a.txt')
  })
})
