import { expect } from 'chai'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kitProcess, newApplication } from '../../support/kit.js'

describe('.env', () => {
  let application: Awaited<ReturnType<typeof newApplication>>
  let file: string

  before(async () => {
    application = await newApplication('--api')
    file = join(application.folder, '.env')
  })
  after(() => application.remove())
  afterEach(() => rmSync(file, { force: true }))

  /** The environment, the database and the file, as `kit info` prints them. */
  async function info(env: NodeJS.ProcessEnv = {}): Promise<Record<string, string>> {
    const { output, errors } = await kitProcess(application.folder, ['info', '--json'], { env })
    expect(errors).to.equal('')
    const { environment, database, variables } = JSON.parse(output)
    return { environment, database, variables }
  }

  it('sets the variables of development, and kit info names the file', async () => {
    writeFileSync(file, 'DATABASE_URL=sqlite:db/mine.sqlite\n')
    expect(await info()).to.deep.equal({
      environment: 'development',
      database: 'db/mine.sqlite',
      variables: '.env',
    })
  })

  it('does not replace a variable that is set', async () => {
    writeFileSync(file, 'DATABASE_URL=sqlite:db/mine.sqlite\n')
    const { database } = await info({ DATABASE_URL: 'sqlite:db/yours.sqlite' })
    expect(database).to.equal('db/yours.sqlite')
  })

  it('is not read in production, and not needed', async () => {
    expect((await info()).variables).to.equal('no .env was read')
    writeFileSync(file, 'DATABASE_URL=sqlite:db/mine.sqlite\n')
    expect(await info({ GO_ENV: 'production' })).to.deep.equal({
      environment: 'production',
      database: 'db/production.sqlite',
      variables: 'no .env was read',
    })
  })
})
