import 'reflect-metadata'
import { Column, Entity } from 'typeorm'
import {
  App,
  BaseResource,
  Database,
  Model,
  parameterLogger,
  Resource,
  transaction,
} from '../../../src/index.js'

/** An application of as many resources, each with a model of its own, as the environment says. */
const numbers = Array.from({ length: Number(process.env['RESOURCES'] ?? 1) }, (_, index) => index)

const models = numbers.map((number) => {
  class Thing extends Model {
    @Column('varchar')
    title!: string

    @Column('text', { nullable: true })
    description!: string | null
  }
  Object.defineProperty(Thing, 'name', { value: `Thing${number}` })
  Entity(`things${number}`)(Thing)
  return Thing
})

const app = new App({ api: true })
app.use(parameterLogger())
app.use(transaction(new Database({ models })))
for (const number of numbers) {
  class ThingsResource extends BaseResource {}
  Resource(`/things${number}`)(ThingsResource)
  app.resource(ThingsResource)
}
await app.listen()
