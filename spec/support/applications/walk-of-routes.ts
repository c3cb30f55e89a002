/**
 * Specs of a generated application, for its folder dist/spec. They send requests to every route of its resources, as pages
 * and as data: as nobody, as another user and as the owner. The expectations follow from the routing table and from the columns
 * of the models, so that new routes are included. Then the handlers forget to call `ctx.authorize`.
 */
export const WALK_OF_ROUTES = String.raw`
import { expect } from 'chai'
import { app } from '../src/app.js'
import { database } from '../src/database.js'
import { client, factory, isolate } from './support/app.js'
import { makeUser, signIn } from './support/users.js'

/** The routes of mails, the home page and accounts. All others are routes of resources with a model. */
const ofAccounts = /^(list|show|content|home|(Account|PasswordReset|Registration|Session)Resource\..+)$/
const routes = app.routes.filter(({ handlerName }) => !ofAccounts.test(handlerName))
const resources = new Map(routes.map(({ resource }) => [resource.class, resource]))
const modelOf = (param) => [...resources.values()].find((resource) => resource.param === param).model
const columnsOf = (model) => database.getMetadata(model).columns.map(({ propertyName }) => propertyName)
const isOwned = (model) => columnsOf(model).includes('user_id')

describe('Every route', () => {
  isolate()
  const visitors = {}
  /** The ids of each user's records, by the parameters of paths. */
  const ids = { owner: {}, another: {} }

  before(async () => {
    for (const name of ['owner', 'another']) {
      const user = await makeUser()
      ids[name].user_id = user.id
      visitors[name] = client.another()
      await signIn(visitors[name], user)
      await visitors[name].get('/')
    }
    for (const { model, param } of resources.values()) ids.owner[param] = (await make(model)).id
    ids.another.label_id = (await make(modelOf('label_id'), ids.another)).id
  })

  /** Creates a record of a user, below the other records of the user. */
  function make(model, keys = ids.owner) {
    const known = columnsOf(model).filter((column) => column in keys)
    return factory.make(model, Object.fromEntries(known.map((column) => [column, keys[column]])))
  }

  /** Every row of the models' tables. SQLite returns them as JSON with one statement. */
  async function rows() {
    const found = await database.manager.query(database.entityMetadatas.map(rowsOf).join(' UNION ALL '))
    return found.map(({ row }) => row).toSorted()
  }

  function rowsOf({ tableName, columns }) {
    const members = columns.map(({ databaseName }) => "'" + databaseName + "', \"" + databaseName + '"')
    return "SELECT json_object('tableName', '" + tableName + "', " + members + ') AS row FROM "' + tableName + '"'
  }

  for (const route of routes) {
    for (const method of [route.method, route.secondMethod]) {
      if (method) describe(method + ' ' + route.path, () => specify(route, method))
    }
  }

  function specify(route, method) {
    const { path: pattern, resource } = route
    const { action, class: type, model, param, isSingular } = resource
    const isOfApi = !routes.some((one) => one.resource.class === type && one.resource.action === 'new')
    const isSafe = ['GET', 'HEAD'].includes(method)
    const params = [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    /** Whether the path leads to the owner's record, or below it. */
    const isHidden = () =>
      isSingular ? !['new', 'create'].includes(action) : params.some((name) => isOwned(modelOf(name)))
    const isLimited = () => isOwned(model) || isHidden()

    function statusOf(accept) {
      if (accept === 'html') return isOfApi ? 406 : isSafe ? 200 : 303
      if (['new', 'edit'].includes(action)) return 406
      return action === 'create' ? 201 : 200
    }

    /** Creates a record of the owner, or with other keys, and returns it with its path. */
    async function target(keys = ids.owner) {
      const id = isSingular ? ids.owner[param] : (await make(model, keys)).id
      return { id, path: pattern.replaceAll(/\{(\w+)\}/g, (_, name) => (name === param ? id : ids.owner[name])) }
    }

    /** Sends a request that also tries to give the record to the other user. */
    async function send(visitor, accept, { path }, name, headers = {}) {
      if (isSafe) return visitor.request(method, path, { accept, headers })
      const { user_id } = ids[name === 'owner' ? 'another' : 'owner']
      const values = { ...factory.build(model), label_id: ids[name].label_id, user_id }
      const nested = { ...values, user: { id: user_id } }
      if (accept === 'json') return visitor.request(method, path, { accept, json: nested })
      if (accept === 'xml') return visitor.request(method, path, { accept, xml: { [resource.singular]: nested } })
      const fields = { ...values, 'user[id]': user_id, 'user.id': user_id, _method: method }
      return visitor.post(path, { accept, form: Object.entries(fields).map(([key, value]) => [key, String(value)]) })
    }

    if (method === 'GET') {
      it('does not let another user choose the owner or the method in a query or a header', async () => {
        if (!isLimited()) return
        const record = await target()
        const before = await rows()
        const { user_id } = ids.owner
        const owners = ['user_id', 'user[id]', 'user.id'].map((name) => name + '=' + user_id)
        const queries = ['_method=DELETE', owners.join('&')]
        const headers = { 'x-http-method-override': 'DELETE', 'x-http-method': 'DELETE' }
        for (const query of queries) {
          const path = record.path + '?' + query
          const { status, text } = await send(visitors.another, 'json', { path }, 'another', headers)
          if (isHidden()) expect(status, path + text).to.be.oneOf([400, 403, 404])
          else expect(status, path + text).to.be.below(500)
          expect(text, path).to.not.include(record.id)
        }
        expect(await rows()).to.deep.equal(before)
      })

      const parents = params.filter((name) => name !== param)
      if (parents.length > 0) {
        it('hides a record of another user from the owner of its parent', async () => {
          if (!isOwned(model) || !parents.some((name) => isOwned(modelOf(name)))) return
          const record = await target({ ...ids.owner, user_id: ids.another.user_id })
          const accept = isOfApi ? 'json' : 'html'
          const { status, text } = await send(visitors.owner, accept, record, 'owner')
          expect(status, text).to.equal(params.includes(param) ? 404 : 200)
          expect(text).to.not.include(record.id)
        })
      }
    }

    // Each resource and each action has each format in some of its routes.
    const number = routes.indexOf(route)
    const ofVisitors = ['html', 'json', 'xml'][number % 3]
    it('limits nobody as ' + ofVisitors, async () => {
      const record = await target()
      const before = isSafe ? [] : await rows()
      const nobody = client.another()
      if (!isSafe && ofVisitors === 'html') await nobody.get('/session/new')
      const rejected = await send(nobody, ofVisitors, record, 'another')
      expect([rejected.status, rejected.location]).to.deep.equal(
        ofVisitors === 'html' ? [303, '/session/new'] : [401, ''],
      )
      if (!isSafe) expect(await rows()).to.deep.equal(before)
    })

    // A handler has one path for pages and one for data. PATCH and HEAD run the handlers of PUT and GET.
    const ofData = ['json', 'xml'][number % 2]
    for (const accept of method === route.method ? ['html', ofData] : [ofData]) {
      it('limits other users as ' + accept, async () => {
        const record = await target()
        const before = isSafe ? [] : await rows()
        const headers = {}
        if (isSafe && isLimited()) {
          const etag = (await send(visitors.owner, accept, record, 'owner')).headers.get('etag')
          if (etag) headers['if-none-match'] = etag
        }
        const { status, location, text } = await send(visitors.another, accept, record, 'another', headers)
        const isOffered = isSingular && action === 'show' && accept === 'html' && !isOfApi
        if (isOffered) expect([status, location]).to.deep.equal([303, record.path + '/new'])
        else if (isHidden()) expect(status, text).to.be.oneOf([403, 404])
        else expect(status, text).to.equal(statusOf(accept))
        if (!isLimited()) return

        expect(text).to.not.include(record.id)
        if (isSafe) return
        const after = await rows()
        expect(after).to.include.members(before)
        const added = after.filter((row) => !before.includes(row)).map((row) => JSON.parse(row))
        const isCreated = action === 'create' && status < 400
        expect(added.map((row) => row.user_id)).to.deep.equal(isCreated ? [ids.another.user_id] : [])
      })

      it('serves the owner as ' + accept, async () => {
        const record = await target()
        if (isSingular && action === 'create') await database.manager.delete(model, record.id)
        const { status, text } = await send(visitors.owner, accept, record, 'owner')
        expect(status, text).to.equal(statusOf(accept))
        if (action === 'list' && method === 'GET' && status === 200) expect(text).to.include(record.id)
        if (isSafe || !isOwned(model)) return
        const owners = (await database.manager.find(model)).map(({ user_id }) => user_id)
        const others = param === 'label_id' ? [ids.another.user_id] : []
        expect(owners.filter((id) => id !== ids.owner.user_id)).to.deep.equal(others)
      })
    }

    if (action === 'new' && method === 'GET') {
      it('authorizes a record that has its owner and its parent', async () => {
        if (!isOwned(model)) return
        const asked = []
        const restore = withoutAuthorize(type.prototype, action, asked)
        if (isSingular) await database.manager.delete(model, ids.owner[param])
        const { status, text } = await send(visitors.owner, 'html', await target(), 'owner').finally(restore)
        expect(status, text).to.equal(200)
        const known = columnsOf(model).filter((name) => name === 'user_id' || params.includes(name))
        const keys = Object.fromEntries(known.map((name) => [name, ids.owner[name]]))
        expect(asked.map((record) => record.constructor)).to.deep.equal([model])
        expect(asked[0]).to.include(keys)
      })
    }

    if (action === 'create') {
      it('has no field for the owner, even if the handler lists no fields', async () => {
        if (!isOwned(model)) return
        let bound
        const handler = type.prototype.create
        type.prototype.create = async (ctx) => {
          bound = ctx.bind(new model())
        }
        const restore = () => (type.prototype.create = handler)
        await send(visitors.owner, 'json', await target(), 'owner').finally(restore)
        expect(bound).to.not.have.property('user_id')
      })
    }

    if (isSafe) return
    it('is rolled back if its handler does not call ctx.authorize', async () => {
      const record = await target()
      if (isSingular && action === 'create') await database.manager.delete(model, record.id)
      const before = await rows()
      const restore = withoutAuthorize(type.prototype, action)
      const { status, text } = await send(visitors.owner, 'json', record, 'owner').finally(restore)
      expect(status, text).to.equal(isLimited() ? 500 : statusOf('json'))
      if (isLimited()) expect(await rows()).to.deep.equal(before)
    })
  }

  /** Replaces a handler by one that calls no policy, and lists its records. Returns a function that restores it. */
  function withoutAuthorize(resource, action, records = []) {
    const handler = resource[action]
    resource[action] = function (ctx) {
      ctx.authorize = async (record) => {
        records.push(record)
        return record
      }
      return handler.call(this, ctx)
    }
    return () => {
      resource[action] = handler
    }
  }
})
`
