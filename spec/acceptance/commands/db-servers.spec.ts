import { expect } from 'chai'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '../../../src/database/database.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { kit, kitProcess, newApplication, root, type Run } from '../../support/kit.js'

if (engine !== 'sqlite') {
  describe(`kit db on ${engine}`, function () {
    let application: Awaited<ReturnType<typeof newApplication>>
    let url: string
    let place: string

    before(async () => {
      application = await newApplication('--db', engine === 'postgres' ? 'postgres' : 'mysql')
      for (const folder of ['src/models', 'migrations']) {
        cpSync(join(root, 'examples/blog', folder), join(application.folder, folder), { recursive: true })
      }
      // The database is deleted at the end, whatever its name is by then.
      const made = new URL(await newDatabase())
      url = made.href
      place = `${made.protocol}//127.0.0.1:${engine === 'postgres' ? 5432 : 3306}${made.pathname}`
      await db('drop', '-y')
    })

    after(() => application.remove())

    const dbAt = (DATABASE_URL: string, ...args: string[]): Promise<Run> =>
      kit(application.folder, ['db', ...args], { env: { DATABASE_URL } })
    const db = (...args: string[]): Promise<Run> => dbAt(url, ...args)
    const written = (output: string): Run => ({ status: 0, output, errors: '' })
    const rejected = (errors: string): Run => ({ status: 1, output: '', errors })

    it('reports a missing database', async () => {
      for (const step of ['status', 'rollback', 'migrate']) {
        expect(await db(step)).to.deep.equal(
          rejected(
            `The database ${place} cannot be opened: its server has no such database. Create it with \`kit db create\`, or correct the url.`,
          ),
        )
      }
      expect(await db('drop', '-y')).to.deep.equal(
        rejected(`The database ${place} does not exist. Create it with \`kit db create\`.`),
      )
    })

    it('creates the database once, migrates, lists and rolls back', async () => {
      expect(await db('create')).to.deep.equal(written(`created ${place}`))
      expect(await db('create')).to.deep.equal(written(`The database ${place} already exists.`))
      expect(await db('migrate')).to.deep.equal(
        written('migrated CreatePosts1795132800000\nmigrated CreateComments1795132801000'),
      )
      expect(await db('rollback')).to.deep.equal(written('rolled back CreateComments1795132801000'))
      expect(await db('status')).to.deep.equal(
        written(
          'STATUS  | MIGRATION\nrun     | CreatePosts1795132800000\npending | CreateComments1795132801000',
        ),
      )
    })

    it('runs each migration once when two processes migrate at the same time', async () => {
      const runs = await Promise.all(
        [1, 2].map(() => kitProcess(application.folder, ['db', 'migrate'], { env: { DATABASE_URL: url } })),
      )
      expect(runs.map(({ status }) => status)).to.deep.equal([0, 0])
      const outputs = runs.map(({ output }) => output).toSorted()
      const nothing = 'There are no pending migrations.'
      expect(outputs).to.deep.equal([nothing, 'migrated CreateComments1795132801000'])
    })

    it('resets and drops the database while others are connected', async () => {
      const other = await new Database({ test: { url } }, 'test').open()
      if (engine === 'mariadb') {
        const [{ collation }] = await other.query('SELECT @@collation_database AS collation')
        expect(collation).to.equal('utf8mb4_nopad_bin')
      }
      const runner = other.createQueryRunner()
      await runner.startTransaction()
      await runner.query('SELECT * FROM posts')
      const { status, output } = await db('reset', '-y')
      expect(output).to.contain(`deleted ${place}\ncreated ${place}\nmigrated CreatePosts`)
      expect(status).to.equal(0)
      await runner.release().catch(() => undefined)
      await other.close()
      expect(await db('drop', '-y')).to.deep.equal(written(`deleted ${place}`))
    })

    it('supports a name that needs quotes', async () => {
      const odd = new URL(url)
      odd.pathname += '%20"it\'s`'
      for (const step of [['create'], ['migrate'], ['status'], ['drop', '-y']]) {
        const { status, errors } = await dbAt(odd.href, ...step)
        expect(errors, step[0]).to.equal('')
        expect(status).to.equal(0)
      }
    })

    it('reports errors of the server without the password', async () => {
      const elsewhere = new URL(url)
      elsewhere.port = '1'
      elsewhere.password = 'geheim'
      elsewhere.username ||= 'somebody'
      for (const step of ['create', 'migrate']) {
        const { status, output, errors } = await dbAt(elsewhere.href, step)
        expect(status).to.equal(1)
        expect(output + errors)
          .to.contain('cannot be opened: nothing listens there. Start the database server')
          .and.to.contain('127.0.0.1:1/')
          .and.not.to.contain('geheim')
      }
    })

    it('reports an unknown user, and one who may not create a database', async () => {
      const admin = await new Database({ test: { url: await newDatabase() } }, 'test').open()
      const user = `kit_spec_user_${crypto.randomUUID().slice(0, 8)}`
      const mine = new URL(url)
      mine.username = user
      mine.password = 'geheim'
      try {
        // The message of MariaDB differs between unknown users.
        for (const suffix of ['_a', '_b', '_c', '_d']) {
          const unknown = new URL(mine)
          unknown.username += suffix
          const { errors } = await dbAt(unknown.href, 'create')
          expect(errors).to.match(/its server (has no such user|rejects the user or the password)\./)
        }
        const name = engine === 'postgres' ? `"${user}"` : `'${user}'@'%'`
        const password = engine === 'postgres' ? "PASSWORD 'geheim'" : "IDENTIFIED BY 'geheim'"
        await admin.query(`CREATE USER ${name} ${password}`)
        const { status, errors } = await dbAt(mine.href, 'create')
        await admin.query(`DROP USER ${name}`)
        expect(status).to.equal(1)
        expect(errors).to.equal(
          `The database ${place} cannot be created: the server does not permit this user to do it. ` +
            'Grant the permission to the user, or ask an administrator.',
        )
      } finally {
        await admin.close()
      }
    })
  })
}
