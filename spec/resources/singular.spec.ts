import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { Column, Entity } from 'typeorm'
import { App, BaseResource, Model, Parent, Resource, Route, type Context } from '../../src/index.js'
import { rowsOf } from '../support/route-rows.js'
import { Site } from '../support/site.js'
import { temporaryFolder } from '../support/temporary-folder.js'

@Entity('devices')
class Device extends Model {
  @Column('varchar')
  name!: string

  @Column('uuid')
  session_id!: string
}

/** Responds with the handler's name and the parameters. */
function reply(ctx: Context): void {
  ctx.body = `${ctx.route.handlerName} ${JSON.stringify(ctx.params)}`
}

@Resource('/session', { singular: true })
class SessionResource extends BaseResource {
  override new(ctx: Context) {
    reply(ctx)
  }
  override show(ctx: Context) {
    return ctx.respond({
      html: () => ctx.render('session', { session: new Device() }),
      data: { name: 'Ada' },
    })
  }
  override create(ctx: Context) {
    reply(ctx)
  }
  override update(ctx: Context) {
    reply(ctx)
  }
  override destroy(ctx: Context) {
    reply(ctx)
  }
  override edit(ctx: Context) {
    reply(ctx)
  }

  @Route('POST', '/renew')
  renew(ctx: Context) {
    reply(ctx)
  }
}

@Resource('/ghosts')
class GhostsResource extends BaseResource {
  override create(ctx: Context) {
    reply(ctx)
  }
}

@Resource('/devices')
@Parent(SessionResource)
class DevicesResource extends BaseResource {
  override list(ctx: Context) {
    reply(ctx)
  }
  override create(ctx: Context) {
    ctx.body = ctx.bind(new Device())
  }
  override show(ctx: Context) {
    reply(ctx)
  }
}

/** It has a list, and no page. */
@Resource('/tokens', { pages: false })
class TokensResource extends BaseResource {
  override list(ctx: Context) {
    return ctx.respond({ data: [] })
  }
}

describe('@Resource(path, { singular: true })', () => {
  it('has routes without a list and an id', () => {
    const app = new App()
    app.resource(SessionResource)
    expect(rowsOf(app)).to.deep.equal([
      'POST /session sessionPath SessionResource.create',
      'POST /session/renew sessionRenewPath SessionResource.renew',
      'GET /session/new newSessionPath SessionResource.new',
      'GET /session sessionPath SessionResource.show',
      'PUT /session sessionPath SessionResource.update',
      'DELETE /session sessionPath SessionResource.destroy',
      'GET /session/edit editSessionPath SessionResource.edit',
    ])
  })

  it('keeps the name of its path, also a plural one', () => {
    @Resource('/settings', { singular: true })
    class SettingsResource extends BaseResource {
      override edit() {}
    }

    @Resource('/colors')
    @Parent(SettingsResource)
    class ColorsResource extends BaseResource {}

    const app = new App()
    app.group('/admin', (admin) => {
      admin.resource(SettingsResource)
      admin.resource(ColorsResource)
    })
    expect([...new Set(app.routes.map(({ path, name }) => `${path} ${name}`))]).to.deep.equal([
      '/admin/settings adminSettingsPath',
      '/admin/settings/edit editAdminSettingsPath',
      '/admin/settings/colors adminSettingsColorsPath',
      '/admin/settings/colors/{color_id} adminSettingsColorPath',
    ])
  })

  it('nests resources without an id of the parent', () => {
    const app = new App()
    app.resource(SessionResource)
    app.resource(DevicesResource)
    expect(rowsOf(app).slice(7)).to.deep.equal([
      'GET /session/devices sessionDevicesPath DevicesResource.list',
      'POST /session/devices sessionDevicesPath DevicesResource.create',
      'GET /session/devices/{device_id} sessionDevicePath DevicesResource.show',
      'PUT /session/devices/{device_id} sessionDevicePath DevicesResource.update',
      'DELETE /session/devices/{device_id} sessionDevicePath DevicesResource.destroy',
    ])
    expect(app.pathFor('sessionDevicePath', { device_id: 7 })).to.equal('/session/devices/7')
  })

  it('can be nested in an item', () => {
    @Resource('/users')
    class UsersResource extends BaseResource {}

    const app = new App()
    app.resource(UsersResource).resource('/profile', SessionResource)
    expect(app.pathFor('userProfilePath', { user_id: 7 })).to.equal('/users/7/profile')
    expect(app.pathFor('editUserProfilePath', 7)).to.equal('/users/7/profile/edit')
  })

  describe('over HTTP', () => {
    let site: Site
    let folder: string

    before(async () => {
      folder = temporaryFolder()
      await writeFile(join(folder, 'session.pug'), '!= nestedLinks(session)\n!= collectionLinks()\n')
      await writeFile(join(folder, 'plain.pug'), '| linked: \n!= nestedLinks({ id: 7 })\n')
      const app = new App({ templates: folder })
      app.get('/plain', (ctx) => ctx.render('plain'))
      app.resource(SessionResource)
      app.resource(DevicesResource)
      app.resource(TokensResource)
      // It has no list, so nothing links to it.
      app.resource(GhostsResource)
      site = await Site.open(app)
    })
    after(async () => {
      await site.close()
      await rm(folder, { recursive: true })
    })

    const requests: [request: string, body: string][] = [
      ['POST /session', 'SessionResource.create {}'],
      ['PUT /session', 'SessionResource.update {}'],
      ['PATCH /session', 'SessionResource.update {}'],
      ['DELETE /session', 'SessionResource.destroy {}'],
      ['GET /session/new', 'SessionResource.new {}'],
      ['GET /session/edit', 'SessionResource.edit {}'],
      ['POST /session/renew', 'SessionResource.renew {}'],
      ['GET /session/devices/7', 'DevicesResource.show {"device_id":"7"}'],
    ]
    for (const [request, body] of requests) {
      it(`responds to ${request}`, async () => {
        const [method = '', path = ''] = request.split(' ')
        expect((await site.request(method, path)).text).to.equal(body)
      })
    }

    it('is linked like the collections of the application, and links to its nested resources', async () => {
      const { text } = await site.get('/session')
      expect(text.match(/<a [^>]*>/g)).to.deep.equal([
        '<a href="/session/devices">',
        '<a href="/session" aria-current="page">',
      ])
      expect(text).to.contain('<nav class="nested"')
    })

    it('has no nested links on the page of a route without a resource', async () => {
      expect((await site.get('/plain')).text.trim()).to.equal('linked:')
    })

    it('names the root element of XML', async () => {
      const { text } = await site.get('/session', { accept: 'application/xml' })
      expect(text).to.contain('<session><name>Ada</name></session>')
    })

    it('has no items: 404, and 405 for another method of its path', async () => {
      expect((await site.get('/session/7')).status).to.equal(404)
      const response = await site.request('POST', '/session/edit')
      expect([response.status, response.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD, OPTIONS'])
    })

    it('does not bind the key of its parent', async () => {
      const { json } = await site.post('/session/devices', {
        accept: 'application/json',
        json: { name: 'Phone', session_id: '0193b6a2-7c3e-7000-8000-00000000000a' },
      })
      expect(json).to.deep.equal({ name: 'Phone' })
    })
  })

  describe('at the start', () => {
    it('rejects a list', () => {
      @Resource('/session', { singular: true })
      class Listed extends BaseResource {
        override list() {}
      }
      expect(() => new App().resource(Listed)).to.throw(
        'Listed is a singular resource, which has no list. Remove the handler list, or the option "singular".',
      )
    })

    it('requires only the other four handlers in a class without BaseResource', () => {
      @Resource('/session', { singular: true })
      class Plain {
        show() {}
        create() {}
        update() {}
        destroy() {}
      }
      const app = new App()
      app.resource(Plain)
      expect(app.routes).to.have.length(4)

      class Incomplete {
        show() {}
      }
      // @ts-expect-error: it lacks handlers
      Resource('/session', { singular: true })(Incomplete)
      // @ts-expect-error: it lacks handlers
      expect(() => new App().resource(Incomplete)).to.throw(
        'Incomplete does not have the required handler create, update, destroy.',
      )
    })

    it('requires a list in other resources', () => {
      class Unlisted {
        show() {}
        create() {}
        update() {}
        destroy() {}
      }
      // @ts-expect-error: it lacks the handler list
      Resource('/posts')(Unlisted)
      expect(() => new App().resource(Unlisted)).to.throw('Unlisted does not have the required handler list.')
    })

    it('rejects the option param', () => {
      @Resource('/session', { singular: true, param: 'slug' })
      class Named extends BaseResource {}
      expect(() => new App().resource(Named)).to.throw(
        'Named is a singular resource, whose path has no parameter. Remove the option "param" or "singular".',
      )
    })

    it('rejects a @Route that begins with a parameter', () => {
      @Resource('/session', { singular: true })
      class Confused extends BaseResource {
        @Route('POST', '/{id}/renew')
        renew() {}
      }
      expect(() => new App().resource(Confused)).to.throw(
        'The path "/{id}/renew" of Confused.renew begins with the parameter "id", but a singular resource has no id. Write "/renew".',
      )
    })
  })
})
