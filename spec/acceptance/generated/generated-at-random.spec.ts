import { rmSync } from 'node:fs'
import { expect } from 'chai'
import { authActions } from '../../../src/generator/auth-generator.js'
import { destroy, generate } from '../../../src/generator/files/files.js'
import { resourceActions, resourceDestruction } from '../../../src/generator/resource-generator.js'
import { teamActions } from '../../../src/generator/team-generator.js'
import { Application } from '../../support/applications/generated.js'
import { RandomResources, type RandomResource } from '../../support/applications/random-resources.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { Random } from '../../support/random.js'

/** The number of resources: a few with `npm test`, or `KIT_GENERATOR`. */
const total = Number(process.env['KIT_GENERATOR'] ?? 5)
/** How many times their specs run: once, or ten times with `npm run soak:generator`. */
const runs = Number(process.env['KIT_GENERATOR_RUNS'] ?? 1)
/** The seed of a failed run, which is printed with the failure. */
const seed = Number(process.env['KIT_GENERATOR_SEED'] ?? Date.now() % 2 ** 31)
/** The most resources of an application. */
const most = 40

for (let first = 0; first < total; first += most) {
  const count = Math.min(most, total - first)
  const variables = `KIT_GENERATOR_SEED=${seed + first} KIT_GENERATOR=${count}`
  describe(`An application of ${count} resources with random options (${variables})`, function () {
    // It waits for programs, which end.
    this.timeout(0)
    let app: Application
    let resources: RandomResource[]
    let empty: Record<string, string>

    before(async () => {
      const random = new Random(seed + first)
      app = random.chance(0.2) ? Application.api() : Application.web()
      if (engine !== 'sqlite') {
        const [DATABASE_URL, TEST_DATABASE_URL] = [await newDatabase(), await newDatabase()]
        Object.assign(app.environment, { DATABASE_URL, TEST_DATABASE_URL })
      }
      const hasUsers = random.chance(0.7)
      if (hasUsers) generate(app.folder, authActions(app.folder, 'user'))
      const roles = random.chance(0.5) ? 'owner,member' : 'owner,manager,clerk,viewer'
      const hasTeam = hasUsers && random.chance(0.5)
      if (hasTeam)
        generate(
          app.folder,
          teamActions(app.folder, 'branch', { roles, api: random.chance(0.2), history: random.chance(0.3) }),
        )
      empty = app.tree()
      resources = new RandomResources(random, hasUsers, hasTeam ? 'branch' : undefined).take(count)
      for (const { name, options, command } of resources) {
        try {
          generate(app.folder, resourceActions(app.folder, name, options))
        } catch (error) {
          throw new Error(command, { cause: error })
        }
      }
    })

    after(() => app.remove())

    afterEach(function () {
      if (this.currentTest?.isFailed()) console.log(resources.map(({ command }) => command).join('\n'))
    })

    it('is formatted', async () => {
      expect(await app.unformatted()).to.deep.equal([])
    })

    it('compiles under strict', () => {
      expect(app.compile()).to.deep.equal({ status: 0, output: '' })
    })

    for (let run = 1; run <= runs; run++) {
      it(`has complete specs that pass (run ${run} of ${runs})`, () => {
        const { passes, failures } = app.reportSpecs('--grep', OF_ACCOUNTS, '--invert')
        expect(failures).to.deep.equal([])
        expect(passes).to.be.above(count)
      })
    }

    it('is as before after kit destroy, which finds nothing edited', async () => {
      for (const { name } of resources.toReversed()) {
        const { actions, remark } = resourceDestruction(app.folder, name)
        for (const { path } of actions)
          expect(`${path}: ${await remark(path)}`).to.equal(`${path}: undefined`)
        await destroy(app.folder, actions, { confirm: () => Promise.resolve(true) })
      }
      rmSync(app.path('node_modules'), { force: true })
      expect(app.tree()).to.deep.equal(empty)
    })
  })
}

/** The specs of accounts and of the home page, which are the same in each application. */
const OF_ACCOUNTS =
  '^(Account|PasswordReset|Registration|Session|Tokens?|Home|Branches|Memberships|Invitations?)Resource '
