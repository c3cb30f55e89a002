import { expect } from 'chai'
import { Post } from '../../src/models/post.js'
import { Notifier } from '../../src/services/notifier.js'
import { client, factory, isolate, provide } from '../support/app.js'

describe('Notifier', () => {
  isolate()

  it('receives each comment that is saved', async () => {
    const texts: string[] = []
    provide(Notifier, { send: async (text) => void texts.push(text) })
    const post = await factory.make(Post, { title: 'Hello' })
    const path = `/posts/${post.id}/comments`
    await client.post(path, { json: { body: '' }, accept: 'json' })
    expect(texts).to.deep.equal([])
    await client.post(path, { json: { body: 'Thanks!' }, accept: 'json' })
    expect(texts).to.deep.equal(['Comment on "Hello": Thanks!'])
  })
})
