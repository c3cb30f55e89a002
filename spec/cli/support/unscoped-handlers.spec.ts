import { expect } from 'chai'
import {
  App,
  BaseResource,
  Model,
  nothing,
  Parent,
  Policy,
  Resource,
  type Context,
} from '../../../src/index.js'
import { isUnscoped } from '../../../src/cli/support/unscoped-handlers.js'

class Note extends Model {}

class NotePolicy extends Policy<Note> {
  scope() {
    return nothing
  }
}

@Resource('/notes', { model: Note, policy: NotePolicy })
class NotesResource extends BaseResource {
  override async list(ctx: Context) {
    return ctx.respond({ data: await ctx.tx.find(Note) })
  }
  override async show(ctx: Context) {
    return ctx.respond({ data: await ctx.find(Note, ctx.params['note_id']) })
  }
  override async create({ tx }: Context) {
    await tx.save(new Note())
  }
  override async update(ctx: Context) {
    await this.touch(ctx)
  }
  override async destroy(ctx: Context) {
    await this.rename(ctx)
  }
  private async touch(ctx: Context): Promise<void> {
    return this.rename(ctx)
  }
  private async rename(ctx: Context): Promise<void> {
    if (ctx.query['again']) return this.touch(ctx)
    const { tx, query } = ctx
    await tx.query(String(query['sql']))
  }
}

@Resource('/lines', { model: Note })
@Parent(NotesResource)
class LinesResource extends BaseResource {
  override async list(ctx: Context) {
    return ctx.respond({ data: await ctx.tx.find(Note) })
  }
}

@Resource('/words', { model: Note })
class WordsResource extends BaseResource {
  override async list(ctx: Context) {
    return ctx.respond({ data: await ctx.tx.find(Note) })
  }
}

describe('isUnscoped(route)', () => {
  it('is true for handlers that use ctx.tx below a policy, also in methods that they call', () => {
    const app = new App()
    for (const resource of [NotesResource, LinesResource, WordsResource]) app.resource(resource)
    app.get('/', async (ctx) => void (await ctx.tx.find(Note)))
    expect(app.routes.filter(isUnscoped).map(({ handlerName }) => handlerName)).to.deep.equal([
      'NotesResource.list',
      'NotesResource.create',
      'NotesResource.update',
      'NotesResource.destroy',
      'LinesResource.list',
    ])
  })
})
