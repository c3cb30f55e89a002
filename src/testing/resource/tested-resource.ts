import { camelize } from 'inflection'
import type { Model } from '../../models/model.js'
import { collectionName, recordName, wordsOf, type Words } from '../../naming/words.js'
import type { Client, ClientResponse, RequestOptions } from '../client.js'
import { sampleFile } from '../sample-file.js'
import { Actors, Refused } from './actors.js'
import type { NestedDescription, ResourceDescription, RouteWord } from './description.js'
import { check, type Expected } from './expected.js'

/** The format of a request and its response. A form belongs to a page, and its response is HTML. */
export type Format = 'html' | 'json' | 'xml' | 'form' | 'csv'

/** A handler, its method and path, and the path of the page with its form. */
export type Target = readonly [handler: string, method: string, path: string, page?: string]

type Handler = 'list' | 'show' | 'new' | 'create' | 'edit' | 'update' | 'destroy'

/** A resource during its tests. */
export class TestedResource {
  /** The record that the tests find. */
  record!: Model
  /** The values of a new record. */
  values!: object
  readonly words: Words
  readonly hasPages: boolean
  /** The record in titles: `a post`, or `the profile` if there is only one. */
  readonly aRecord: string
  readonly formats: readonly Format[]
  readonly description: ResourceDescription<Model>
  private actors: Actors | undefined
  /** The client of the user who calls the handlers of a test. */
  private current: Client
  /** Whether the test is about a user whom the policy does not know. */
  private isOther = false

  constructor(
    private readonly client: Client,
    given: ResourceDescription<Model>,
  ) {
    const { name, pages, singular, asOther } = given
    this.description = { ...given, ...(asOther && { asOther: () => this.leave(asOther) }) }
    this.current = client
    this.words = wordsOf(name, collectionName(name))
    this.hasPages = pages ?? client.accept === 'html'
    this.aRecord = singular ? `the ${this.words.one}` : this.words.aOne
    this.formats = this.hasPages ? ['html', 'json', 'xml'] : ['json', 'xml']
  }

  /** Creates the record, and the values of a new one. */
  async prepare(): Promise<void> {
    const { record, values, guard, within, routes = [], bulk = [] } = this.description
    this.record = await this.make(record)
    const own = typeof values === 'function' ? await values() : values
    const lists = Object.keys(this.nested).map(async (name) => [name, [await this.line(name)]])
    this.values = { ...own, ...Object.fromEntries(await Promise.all(lists)) }
    if (!guard) return
    const parent = guard === true ? undefined : guard()
    const model = this.record.constructor as new () => Model
    const fresh = this.client.recordsOf().factory.build(model, within?.())
    const changes = routes.flatMap((route) => (isRead(route) ? [] : handlerOf(route)))
    this.actors = await Actors.find(this.client, [...changes, ...bulk], { parent, fresh, saved: this.record })
  }

  /** Whether the policy allows to somebody to change the record. */
  get isChangeable(): boolean {
    return ['update', 'destroy'].some((handler) => this.actors?.of(handler)?.allowed ?? !this.actors)
  }

  /** Begins a test, with the user whom the spec has signed in. */
  begin(): void {
    this.current = this.client
    this.isOther = false
  }

  /** Signs another user in, about whom the policy says nothing. */
  private async leave(asOther: () => Promise<unknown>): Promise<void> {
    this.begin()
    this.isOther = true
    await asOther()
  }

  /**
   * Lets somebody call a handler whom the policy allows it.
   *
   * @throws Refused when there is nobody, if the handler refuses it to the highest role
   */
  async enter(target: Handler | Target, hidden = false): Promise<void> {
    const handler = typeof target === 'string' ? target : target[0]
    const { allowed, refused } = (!this.isOther && this.actors?.of(handler)) || {}
    this.current = allowed ?? this.current
    if (allowed || !refused) return
    await this.expectRefusal(target, hidden)
    throw new Refused()
  }

  /** Expects that the highest role that may not call a handler gets 403. */
  async expectRefusal(target: Handler | Target, hidden = false): Promise<void> {
    const [handler, method, path] = typeof target === 'string' ? this.at()[target] : target
    const { refused } = this.actors?.of(handler) ?? {}
    const json = method === 'GET' ? undefined : { ...this.values, ids: [this.record.id] }
    const accept = handler === 'new' || handler === 'edit' ? 'html' : 'json'
    const response = await refused?.request(method, path, { accept, json })
    // The record may be hidden from everybody.
    const status = hidden && response?.status === 404 ? 404 : 403
    if (response) check(`${handler}, which the policy refuses (${method} ${path})`, response, { status })
  }

  /** The lists of lines. */
  get nested(): Readonly<Record<string, NestedDescription>> {
    return (this.description.nested ?? {}) as Record<string, NestedDescription>
  }

  /** Creates the values of a new line. */
  async line(name: string): Promise<object> {
    const values = this.nested[name]?.values ?? {}
    return typeof values === 'function' ? await values() : values
  }

  /** Creates a record that belongs to the parent and the owner. */
  make(values: Partial<Model> = {}): Promise<Model> {
    return this.description.make({ ...this.description.within?.(), ...values })
  }

  /** The path of the list, or of the singular resource. */
  get list(): string {
    const { path } = this.description
    return typeof path === 'string' ? path : path()
  }

  /** The path of the record. */
  get item(): string {
    return this.description.singular ? this.list : `${this.list}/${this.record.id}`
  }

  /** The handlers, with their paths for a record. */
  at(item = this.item): Record<Handler, Target> {
    const { list } = this
    return {
      list: ['list', 'GET', list],
      show: ['show', 'GET', item],
      new: ['new', 'GET', `${list}/new`],
      create: ['create', 'POST', list, `${list}/new`],
      edit: ['edit', 'GET', `${item}/edit`],
      update: ['update', 'PUT', item, `${item}/edit`],
      destroy: ['destroy', 'DELETE', item, item],
    }
  }

  /** Sends a request to a handler of the record, or to any other target, and checks the response. */
  async expect(
    target: Handler | Target,
    format: Format,
    expected: Expected,
    values?: object | string,
    headers: Record<string, string> = {},
  ): Promise<ClientResponse> {
    const [handler, method, path, page = path]: Target =
      typeof target === 'string' ? this.at()[target] : target
    await this.enter(target, expected.status === 404)
    const isForm = format === 'form'
    const accept = isForm ? 'html' : format === 'csv' ? 'text/csv' : format
    // The page contains a token, which the client sends with the form.
    const withFiles = values !== undefined && values === this.values && this.requiredFiles.length > 0
    if (isForm || (withFiles && this.hasPages))
      await this.expect([`page with the form of ${handler}`, 'GET', page], 'html', { status: 200 })
    const body =
      typeof values === 'string'
        ? csvOf(values)
        : withFiles
          ? { form: { ...this.formOf(values), ...Object.fromEntries(this.requiredFiles) } }
          : this.bodyOf(method, format, values)
    const sent = isForm ? 'POST' : method
    const request = `${handler} ${isForm ? 'from a form' : `as ${format.toUpperCase()}`} (${sent} ${path})`
    // The client itself rejects a response that differs from the OpenAPI document.
    const response = await this.current
      .request(sent, path, { accept, headers: { ...(withFiles && this.formHeaders), ...headers }, ...body })
      .catch((error: Error) => {
        throw Object.assign(error, { message: `${request}: ${error.message}` })
      })
    check(request, response, expected)
    return response
  }

  /** The files that a new record needs. They are sent in a form, and the response has any format. */
  private get requiredFiles(): [name: string, file: File][] {
    const { files = {}, required = [] } = this.description
    const names = Object.keys(files).filter((name) => (required as readonly string[]).includes(name))
    return names.map((name) => [name, sampleFile([files[name] ?? ''].flat()[0])])
  }

  /** Changes files of the record by a multipart form, and returns the record as JSON. */
  async sendFile(name: string, value: File | string): Promise<ClientResponse> {
    await this.enter('update')
    if (this.hasPages) await this.expect('edit', 'html', { status: 200 })
    return this.current.put(this.item, { form: { [name]: value }, accept: 'json', headers: this.formHeaders })
  }

  /** Clients of an API have no page with a token. Their forms are accepted with a header that no other site can make a browser send. */
  private get formHeaders(): Record<string, string> {
    return this.hasPages || this.current.bearer !== undefined ? {} : { authorization: 'Bearer spec' }
  }

  /** Reads a file, as a browser does. */
  readFile(url: string): Promise<ClientResponse> {
    return this.current.get(url)
  }

  private bodyOf(method: string, format: Format, values?: object): RequestOptions {
    if (format === 'form')
      return { form: { ...(method !== 'POST' && { _method: method }), ...this.formOf(values) } }
    if (format !== 'xml') return { json: values }
    return values
      ? { xml: { [elementOf(this.record)]: { ...textsOf(values), ...this.linesIn(values) } } }
      : {}
  }

  /** The fields of a form: `lines[0][quantity]` is one of a line. */
  private formOf(values: object = {}): Record<string, string | string[]> {
    const rows = Object.entries(this.linesIn(values)).flatMap(([name, lines]) =>
      lines.flatMap((line, index) =>
        Object.entries(line).map(([field, text]) => [`${name}[${index}][${field}]`, text]),
      ),
    )
    const others = Object.entries(textsOf(values)).filter(([name]) => !(name in this.nested))
    return Object.fromEntries([...others, ...rows])
  }

  /** The lists of lines that some values have. */
  private linesIn(values: object): Record<string, Record<string, string | string[]>[]> {
    const given = Object.entries(values).filter(([name]) => name in this.nested)
    return Object.fromEntries(given.map(([name, lines]: [string, object[]]) => [name, lines.map(textsOf)]))
  }

  /** Checks what a handler has done to the record, or to the one of a path. */
  expectAfter(handler: Handler, expected: Expected, path = this.item): Promise<ClientResponse> {
    return this.expect([`show after ${handler}`, 'GET', path], 'json', expected)
  }

  /** Deletes the record if there can be no other one. */
  async makeRoom(): Promise<void> {
    const { singular, onlyOne } = this.description
    if (singular || onlyOne) await this.expect('destroy', 'json', { status: 200 })
  }
}

/** The name of a route's handler, and whether it only reads. */
export function handlerOf(route: RouteWord): string {
  return camelize(route.split(':')[0] ?? '', true)
}

export function isRead(route: RouteWord): boolean {
  return route.split(':')[1] === 'get'
}

/** A CSV file as a body. */
function csvOf(body: string): RequestOptions {
  return { body, headers: { 'content-type': 'text/csv' } }
}

/** The name of a record's element in XML. The record itself may have a `constructor` attribute. */
function elementOf(record: Model): string {
  return recordName((Object.getPrototypeOf(record) as Model).constructor.name)
}

/** Values as text. */
function textsOf(values: object): Record<string, string | string[]> {
  const textOf = (value: unknown) => (Object(value) === value ? JSON.stringify(value) : String(value ?? ''))
  return Object.fromEntries(
    Object.entries(values).map(([name, value]: [string, unknown]) => [
      name,
      Array.isArray(value) ? value.map(textOf) : textOf(value),
    ]),
  )
}
