import { expect } from 'chai'
import { Database } from '../../src/index.js'
import { ownServer } from '../support/servers/own-server.js'

describe('A MariaDB server that only reads', () => {
  it('is left by all connections, which lead to where its address leads then', async () => {
    const server = await ownServer('mariadb')
    const administrator = await new Database({ test: { url: server.url } }, 'test').open()
    await administrator.query('CREATE DATABASE blog')
    await administrator.query('CREATE TABLE blog.posts (id int)')
    await administrator.query("CREATE USER blog IDENTIFIED BY 'secret'")
    await administrator.query('GRANT ALL ON blog.* TO blog')
    const url = server.url.replace('root@', 'blog:secret@').replace('/mysql', '/blog')
    const database = await new Database({ test: { url } }, 'test').open()
    const ids = async (): Promise<unknown[]> => {
      const reads = [1, 2, 3].map(() => database.query('SELECT CONNECTION_ID() AS id, SLEEP(0.1)'))
      return (await Promise.all(reads)).map(([row]) => String(row.id))
    }
    const before = await ids()
    expect(await ids()).to.have.members(before)
    await administrator.query('SET GLOBAL read_only = ON')
    const problem: unknown = await database.query('INSERT INTO posts VALUES (1)').catch((error) => error.code)
    expect(problem).to.equal('ER_OPTION_PREVENTS_STATEMENT')
    await administrator.query('SET GLOBAL read_only = OFF')
    const after = await ids()
    expect(after.filter((id) => before.includes(id))).to.deep.equal([])
    await database.close()
    await administrator.close()
    await server.remove()
  })
})
