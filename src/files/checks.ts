import type { Logger } from 'pino'
import { getMetadataArgsStorage } from 'typeorm'
import { DeclarationError, type Database, type DeclaredRoute, type Middleware } from '../index.js'
import type { Files } from './files.js'
import { declarationsOf } from './loading.js'

/**
 * Opens the database and the store, and checks them, the models and the table.
 *
 * @throws DeclarationError when one of them does not work
 */
export async function checkFiles(files: Files, logger: Logger): Promise<void> {
  checkModels(files.table.database)
  await files.table.start()
  const store = await files.open()
  await store.start?.(logger)
}

/** @throws DeclarationError when a model has the name of stored files, or declares the column of a file itself */
function checkModels(database: Database): void {
  for (const metadata of database.entityMetadatas) {
    if (metadata.targetName === 'StoredFile')
      throw new DeclarationError(
        'A model has the name StoredFile, which is that of the files of resource-kit/files. Give it another name.',
      )
    for (const { name, column } of declarationsOf(metadata)) {
      const isTaken = ({ target, propertyName }: { target: unknown; propertyName: string }) =>
        target === metadata.target && propertyName === column
      if (getMetadataArgsStorage().columns.filter(isTaken).length > 1)
        throw new DeclarationError(
          `${metadata.targetName}.${column} is the column of ${name}, which @HasFile declares. Remove the attribute ${column}.`,
        )
    }
  }
}

/** @throws DeclarationError when the transaction of a request would be open while its files are stored */
export function checkRoute(
  { declaredMiddleware, method, path }: DeclaredRoute,
  middleware: Middleware,
): void {
  const above = declaredMiddleware.slice(0, declaredMiddleware.indexOf(middleware))
  const keys = above.find(({ extension }) => extension?.recognizesKeys)
  if (keys)
    throw new DeclarationError(
      `${keys.name}() of ${method} ${path} is above app.extend(files), so its key would begin the transaction before the files ` +
        `are stored. Declare app.extend(files) above ${keys.name}().`,
    )
}
