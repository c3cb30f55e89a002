import type { DataSource, EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { DeclarationError } from '../errors.js'
import { nearest } from '../naming/spelling.js'
import type { DeclaredRoute, RouteResource } from '../routing/declared-route.js'
import { enclosuresOf } from '../records/within.js'
import { findColumn, isUnique } from './columns.js'

/** The handlers that an action for many cannot call, because they do not change an item. */
const unchanging = ['list', 'create', 'new', 'show', 'edit']

/**
 * Checks the options `csv`, `import` and `bulk` of the resources that have routes.
 *
 * @throws DeclarationError
 */
export function checkMany(database: DataSource, routes: readonly DeclaredRoute[]): void {
  const resources = new Map(
    routes.flatMap(({ resource, handlerName }) =>
      resource?.many ? [[resource.routes, { resource, name: handlerName.split('.')[0] ?? '' }] as const] : [],
    ),
  )
  for (const { resource, name } of resources.values()) new Check(database, resource, name).run()
}

/** The check of one resource. */
class Check {
  constructor(
    private readonly database: DataSource,
    private readonly resource: RouteResource,
    private readonly name: string,
  ) {}

  run(): void {
    const { model, many, isSingular } = this.resource
    const { csv, import: imports, bulk } = many ?? {}
    const option = csv ? 'csv' : imports ? 'import' : 'bulk'
    if (isSingular)
      this.fail(`has the option ${option}, but a singular resource has no list. Remove the option.`)
    if (!model || !this.database.hasMetadata(model))
      this.fail(`has the option ${option}, but no model. Add it: @Resource('/...', { model: Post }).`)
    const metadata = this.database.getMetadata(model)
    if (csv) this.checkCsv(metadata, csv)
    if (imports) this.checkImport(metadata, imports === true ? {} : imports)
    if (bulk) this.checkBulk(bulk)
  }

  private checkCsv(metadata: EntityMetadata, names: readonly string[]): void {
    this.require('list', 'csv')
    if (names.length === 0)
      this.fail('has an empty list as the option csv. Name its columns, or remove the option.')
    for (const [index, name] of names.entries()) {
      if (names.indexOf(name) < index) this.fail(`has "${name}" twice in the option csv. Remove one of them.`)
      const column = findColumn(metadata, name)
      if (typeof column === 'string') this.fail(`has "${name}" in the option csv, which ${column}`)
      const { relation, metadata: found } = column
      const key = relation?.joinColumns[0]?.propertyName ?? ''
      const { many, fields = [] } = this.resource
      if (relation && many?.import && fields.includes(key) && !this.isUniqueInPath(found))
        this.fail(
          `imports "${name}" of the option csv, which has no unique index, so it can mean several records. ` +
            `Add @Column({ unique: true }), or use "${key}".`,
        )
    }
  }

  /** Whether only one record in the parents of the path has a value. */
  private isUniqueInPath(column: ColumnMetadata): boolean {
    const { parentKeys } = this.resource
    const parents = enclosuresOf(column.entityMetadata).map(({ key }) => key)
    return isUnique(
      column,
      parents.filter(({ propertyName }) => parentKeys.includes(propertyName)),
    )
  }

  private checkImport(
    metadata: EntityMetadata,
    { key, maxLines = 1 }: { key?: string; maxLines?: number },
  ): void {
    const { fields = [] } = this.resource
    if (fields.length === 0)
      this.fail('has the option import, but no fields. Add them: they are the columns that a file may write.')
    this.require('create', 'import')
    if (!Number.isInteger(maxLines) || maxLines < 1)
      this.fail(`has maxLines: ${maxLines} in the option import. Use a whole number from 1.`)
    if (key === undefined) return
    this.require('update', `import: { key: '${key}' }`)
    if (key === 'id') return
    const column = metadata.findColumnWithPropertyName(key)
    if (!column || !fields.includes(key))
      this.fail(`has the key "${key}" in the option import, which is not one of its fields.`)
    const keys = metadata.relations.flatMap(({ joinColumns }) => joinColumns)
    if (!isUnique(column, keys))
      this.fail(
        `has the key "${key}" in the option import, which has no unique index, so a line could mean several records. ` +
          'Add @Column({ unique: true }), or choose another key.',
      )
  }

  private checkBulk(actions: readonly string[]): void {
    if (actions.length === 0)
      this.fail('has an empty list as the option bulk. Name its handlers, or remove the option.')
    for (const action of actions) {
      const route = this.resource.routes.get(action)
      if (!route) {
        const suggestion = nearest(action, this.resource.routes.keys())
        this.fail(
          `has "${action}" in the option bulk, which is not a handler with a route.` +
            (suggestion ? ` Did you mean "${suggestion}"?` : ''),
        )
      }
      const { itemPath } = this.resource
      if (
        unchanging.includes(action) ||
        route.method === 'GET' ||
        !`${route.path}/`.startsWith(`${itemPath}/`)
      )
        this.fail(
          `has "${action}" in the option bulk, which does not change an item. Name update, destroy, or a @Route with POST, PUT, ` +
            `PATCH or DELETE at "/{${this.resource.param}}/...".`,
        )
      this.require(action, 'bulk')
    }
  }

  private require(handler: string, option: string): void {
    if (this.resource.routes.get(handler)?.isWritten) return
    this.fail(`has the option ${option}, but no handler ${handler}. Write it, or remove the option.`)
  }

  private fail(problem: string): never {
    throw new DeclarationError(`${this.name} ${problem}`)
  }
}
