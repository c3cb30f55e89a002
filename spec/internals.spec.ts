import 'reflect-metadata'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { connect, createServer, Socket, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { getMetadataStorage } from 'class-validator'
import Koa from 'koa'
import { container, inject, injectable } from 'tsyringe'
import { ENGINES } from '../src/cli/support/application-files.js'
import { Database } from '../src/index.js'
import { root } from './support/kit.js'

const require = createRequire(import.meta.url)

/** The methods of a prototype, including inherited ones. */
function methodsOf(prototype: object, names: readonly string[]): string[] {
  return names.filter((name) => typeof Reflect.get(prototype, name) === 'function')
}

/**
 * The private parts of other packages that the framework uses, which neither their documentation nor their types name: an
 * upgrade that changes one fails here first.
 */
describe('The internals of other packages', () => {
  it('TypeORM: the driver of MariaDB and MySQL creates its pool with the package that it has loaded', () => {
    const { driver } = new Database({ test: { url: 'mysql://127.0.0.1/none' } }, 'test')
    expect(Reflect.get(driver, 'mysql')).to.have.property('createPool').that.is.a('function')
  })

  it('only change by patch releases, in the framework and in a new application', () => {
    const used = 'class-transformer class-validator koa koa-session mysql2 pg pug tsyringe typeorm'.split(' ')
    const manifests = ['package.json', 'scaffolds/application/common/package.json'].map((file) =>
      Object(JSON.parse(readFileSync(join(root, file), 'utf8'))),
    )
    const groups = manifests.flatMap((it) => [it.dependencies, it.peerDependencies, it.devDependencies])
    const ranges = groups.flatMap((group: Record<string, string> = {}) => Object.entries(group))
    ranges.push(...Object.values(ENGINES).map(({ driver, version }): [string, string] => [driver, version]))
    const pinned = ranges.filter(([name]) => used.includes(name))
    expect(new Set(pinned.map(([name]) => name))).to.have.all.keys(...used)
    expect(pinned.filter(([, range]) => !range.startsWith('~'))).to.deep.equal([])
  })

  it('pg: a client reports whether its transaction has ended', () => {
    const { Client } = require('pg')
    expect(new Client().getTransactionStatus()).to.equal(null)
  })

  it('pg: a client has the process id of its handshake, and its socket', () => {
    const { Client } = require('pg')
    const client = new Client()
    expect(client).to.have.property('processID', null)
    expect(client.connection.stream).to.be.instanceOf(Socket)
  })

  it('pg: a query prepares its statement, and receives the end of a command', () => {
    const { Query } = require('pg')
    const methods = ['prepare', 'handleCommandComplete']
    expect(methodsOf(Query.prototype, methods)).to.deep.equal(methods)
  })

  it('Koa: a request has getters of its address, scheme and host', () => {
    const prototype = Object.getPrototypeOf(new Koa().request)
    for (const name of ['ip', 'protocol', 'host'])
      expect(Object.getOwnPropertyDescriptor(prototype, name)?.get, name).to.be.a('function')
  })

  it('Node: a socket counts the bytes that the operating system has not accepted', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'connect')
    expect(Reflect.get(Object(Reflect.get(socket, '_handle')), 'writeQueueSize')).to.equal(0)
    socket.destroy()
    server.close()
  })

  it('Koa: a response has the fields that are restored before a handler is retried', () => {
    const koa = new Koa()
    const request = new IncomingMessage(new Socket())
    const context = koa.createContext(request, new ServerResponse(request))
    context.status = 201
    context.body = 'text'
    expect(Object.keys(context.response)).to.include.members(['_explicitStatus', '_body'])
    context.body = null
    expect(Object.keys(context.response)).to.include('_explicitNullBody')
  })

  it('Koa: handleRequest runs the middleware and sends the response, and can be replaced', async () => {
    const koa = new Koa()
    expect(Reflect.get(koa, 'handleRequest')).to.be.a('function')
    const called = new Promise((resolve) => Object.defineProperty(koa, 'handleRequest', { value: resolve }))
    const request = new IncomingMessage(new Socket())
    void koa.callback()(request, new ServerResponse(request))
    expect(await called).to.include({ req: request })
  })

  it('koa-session: a context gets its session from a property that can be redefined', () => {
    const koa = new Koa()
    koa.keys = ['a secret of the specs']
    const { default: session } = require('koa-session')
    session({ key: 'name' }, koa)
    expect(Object.getOwnPropertyDescriptor(koa.context, 'session')).to.include({ configurable: true })
  })

  it('tsyringe: a container lists its registrations, and classes their tokens', () => {
    @injectable()
    class Registered {
      constructor(@inject('token') readonly given: unknown) {}
    }
    const child = container.createChildContainer()
    child.registerSingleton(Registered)
    const registry = Reflect.get(Reflect.get(child, '_registry'), '_registryMap') as Map<unknown, object[]>
    expect(registry.get(Registered)?.at(-1))
      .to.have.property('provider')
      .with.property('useClass', Registered)
    expect(Reflect.getMetadata('injectionTokens', Registered)).to.have.nested.property('0.token', 'token')
  })

  it('class-transformer: its storage lists the rules of a class', () => {
    const { defaultMetadataStorage: storage } = require('class-transformer/cjs/storage.js')
    const names = ['getExposedMetadatas', 'getExcludedMetadatas', 'getStrategy']
    expect(methodsOf(storage, names)).to.deep.equal(names)
    expect(storage._transformMetadatas).to.be.an.instanceOf(Map)
  })

  it('class-validator: its storage lists the rules of a class', () => {
    expect(getMetadataStorage().getTargetValidationMetadatas(class {}, '', false, false)).to.deep.equal([])
  })

  it('class-validator: a part that is loaded by its file is that of the package', () => {
    const validator = require('class-validator')
    const parts = {
      getFromContainer: 'container.js',
      Validator: 'validation/Validator.js',
      getMetadataStorage: 'metadata/MetadataStorage.js',
      ValidateBy: 'decorator/common/ValidateBy.js',
    }
    for (const [name, file] of Object.entries(parts))
      expect(require(`class-validator/cjs/${file}`)[name], name)
        .to.be.a('function')
        .and.equal(validator[name])
  })
})
