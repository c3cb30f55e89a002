import { expect } from 'chai'
import { authActions } from '../../../src/generator/auth-generator.js'
import { generate } from '../../../src/generator/files/files.js'
import { resourceActions } from '../../../src/generator/resource-generator.js'
import { Application } from '../../support/applications/generated.js'
import { RandomTrees, type TreeResource } from '../../support/applications/random-trees.js'
import { walkOfTrees } from '../../support/applications/walk-of-trees.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { Random } from '../../support/random.js'

/** The number of trees: `KIT_TREES` on SQLite, or a few, and a third of them on a server. */
const trees = Number(process.env['KIT_TREES'] ?? (engine === 'sqlite' ? 5 : 0))
const total = Math.ceil(trees / (engine === 'sqlite' ? 1 : 3))
/** The seed of a failed run, which is printed with the failure. */
const seed = Number(process.env['KIT_TREES_SEED'] ?? Date.now() % 2 ** 31)
/** The most trees of an application. */
const most = 10

for (let first = 0; first < total; first += most) {
  const count = Math.min(most, total - first)
  const variables = `KIT_TREES_SEED=${seed + first} KIT_TREES=${count}`
  describe(`An application of ${count} trees of resources of users (${variables})`, function () {
    // It waits for programs, which end.
    this.timeout(0)
    let app: Application
    let resources: TreeResource[]

    before(async () => {
      const random = new Random(seed + first)
      const isApi = random.chance(0.2)
      app = isApi ? Application.api() : Application.web()
      if (engine !== 'sqlite') {
        const [DATABASE_URL, TEST_DATABASE_URL] = [await newDatabase(), await newDatabase()]
        Object.assign(app.environment, { DATABASE_URL, TEST_DATABASE_URL })
      }
      generate(app.folder, authActions(app.folder, 'user'))
      const trees = new RandomTrees(random, isApi)
      resources = Array.from({ length: count }, () => trees.next()).flat()
      for (const resource of resources) generateInclusive(app, resource)
    })

    after(() => app.remove())

    afterEach(function () {
      if (this.currentTest?.isFailed()) console.log(resources.map(({ command }) => command).join('\n'))
    })

    it('compiles under strict', () => {
      expect(app.compile()).to.deep.equal({ status: 0, output: '' })
    })

    it('shows a user nothing of another one, and saves no reference to it', () => {
      app.write('dist/spec/trees.spec.js', walkOfTrees(resources))
      const { passes, failures } = app.reportSpecs('dist/spec/trees.spec.js')
      expect(failures.join('\n')).to.equal('')
      expect(passes).to.be.above(resources.length)
    })
  })
}

/** Generates a resource whose list includes the records that it refers to. */
function generateInclusive(
  app: Application,
  { word, options, file, references, filters }: TreeResource,
): void {
  try {
    generate(app.folder, resourceActions(app.folder, word, options))
  } catch (error) {
    throw new Error(word, { cause: error })
  }
  const included = references.filter(({ name }) => filters.includes(name))
  if (included.length === 0) return
  const path = `src/actions/${file}.ts`
  const relations = included.map(({ property }) => `${property}: ['id', 'title']`).join(', ')
  app.write(path, app.read(path).replace(/^ {2}@Queryable<.*\n/m, `$&    include: { ${relations} },\n`))
}
