import type { Next } from 'koa'
import type { Readable } from 'node:stream'
import type { Logger } from 'pino'
import { filesOfLines, milliseconds, removeStaleUploads, uploadPlans, type Duration } from '../extension.js'
import {
  type Context,
  type Database,
  type DeclaredRoute,
  type Extension,
  type Handler,
  type Middleware,
  type Model,
} from '../index.js'
import { checkFiles, checkRoute } from './checks.js'
import { declarationsOf } from './loading.js'
import { FileTable } from './file-table.js'
import { Files, filesOfDatabase, type FilesStores } from './files.js'
import type { FileSource } from './receiving.js'
import { download as sendLinked, signedUrl, type SignedUrlOptions } from './signed-urls.js'
import { FileRoutes } from './routes.js'
import './saving.js'
import { sendFile, type SendFileOptions } from './serving.js'
import { stageFiles, writableFiles } from './staging.js'
import { createFile, type StoredFile } from './stored-file.js'
import { FolderStore } from './stores/folder.js'
import { upload as storeUpload } from './upload.js'
import { loadSharp, Variants } from './variants.js'
import { Sweep, type Swept } from './sweep.js'

/** The options of `storedFiles()`. */
export interface StoredFilesOptions extends FilesStores {
  /** The table, which a migration creates with `storedFilesTable()` (`stored_files`). */
  table?: string
  /** How long files are kept that no record has yet, or any more (`'1 day'`). */
  keepUnused?: Duration
  /** Returns the time in milliseconds (`Date.now`). */
  now?: () => number
}

declare module '../index.js' {
  interface Context {
    /**
     * Responds with a file: the one of a record's files that the `stored_file_id` parameter names, in the variant that the query
     * names, or the given file. Call it last, because it ends the request's transaction.
     *
     * @example await ctx.sendFile(await ctx.find(Item, ctx.params.item_id))
     * @throws RecordNotFound (404) when the record has no such file, or the attribute no such variant
     * @throws ServiceUnavailable (503) when the store does not respond
     */
    sendFile(subject: Model | StoredFile, options?: SendFileOptions): Promise<void>
  }
}

/** The extension of `storedFiles()`. */
export interface StoredFiles extends Extension {
  /**
   * Stores a file, which you assign to an attribute: `item.photo = await files.store('logo.png')`. In a request, call it before the
   * first query. Without a record that is saved with it, the file goes after `keepUnused`.
   *
   * @param source the path of a file, its bytes, a stream of them, or one of `ctx.request.files`
   * @param options its name, without which it is that of the path or of the upload
   * @throws ServiceUnavailable (503) when the store does not work
   */
  store(source: FileSource, options?: { filename?: string }): Promise<StoredFile>
  /** Reads the bytes of a file. */
  read(file: StoredFile): Promise<Readable>
  /**
   * Returns an absolute URL from which anybody who has it reads a file, for mails and other services. It begins with `BASE_URL`, and needs
   * the route `app.get('/downloads/{token}', files.download)`.
   *
   * @example files.signedUrl(item.photo, { expires: '1 hour' })
   * @throws DeclarationError without the route or `BASE_URL`, or for a variant that the attribute does not declare
   */
  signedUrl(file: StoredFile, options: SignedUrlOptions): string
  /** The handler of signed URLs: `app.get('/downloads/{token}', files.download)`. A wrong or expired token is 404. */
  download: Handler
  /**
   * The handler that stores a file before its record exists: `app.post('/uploads', files.upload)`. It reads a multipart form with one
   * field, `file`, and responds with the `token` that another request sends as the value of the attribute.
   */
  upload: Handler
  /** Deletes the files that no record has, and whose time is over. A serving process does so every hour. */
  sweep(): Promise<Swept>
  /**
   * For `kit files`.
   *
   * @internal
   */
  readonly internal: Files
}

/** Lets a form have as many bytes as the attributes of its resource accept together, and an upload as many as any attribute. */
function planUploads(files: Files, route: DeclaredRoute, isUpload: boolean, middleware: Middleware): void {
  const own = writableFiles(route)
  const ofLines = filesOfLines(route.resource?.model, route.resource?.fields)
  const isWritten = own.length + ofLines.length > 0
  if (isWritten) checkRoute(route, middleware)
  const all = isUpload ? files.table.database.entityMetadatas.flatMap(declarationsOf) : []
  const sizes = [
    Math.max(0, ...all.map(({ maxSize }) => maxSize)),
    ...own.map(({ maxSize, maxCount }) => maxSize * maxCount),
    ...ofLines.map(({ list, file }) => file.maxSize * list.max),
  ]
  const filesLimit = sizes.reduce((sum, size) => sum + size)
  const lines = ofLines.length > 0 ? new RegExp(ofLines.map(({ part }) => part).join('|')) : undefined
  if (isUpload || isWritten) uploadPlans.set(route, { filesLimit, folder: files.uploads, lines })
}

function warnOfStrangers({ middleware, path }: DeclaredRoute, logger: Logger): void {
  if (middleware.some(({ name }) => name === 'requireUser')) return
  logger.warn(
    `Strangers can fill the disk by POST ${path}. Declare it below requireUser(), or add a rateLimit().`,
  )
}

/** Milliseconds between two sweeps of a process. */
const sweepEvery = 60 * 60 * 1000

/**
 * Stores the files of models with `@HasFile` and `@HasFiles`: their rows in a table of the database, and their bytes in a folder or a
 * bucket. Declare it below `transaction()`, and above the resources.
 *
 * @example
 * export const files = storedFiles(database)
 * app.extend(files)
 * @throws DeclarationError when an option is wrong
 */
export function storedFiles(database: Database, options: StoredFilesOptions = {}): StoredFiles {
  const { table: name = 'stored_files', keepUnused = '1 day', now = Date.now } = options
  const kept = milliseconds(keepUnused, 'The `keepUnused` of storedFiles()')
  const table = new FileTable(database, name, kept, now)
  const files = new Files(table, options)
  filesOfDatabase.set(database, files)
  const sweep = new Sweep(files)
  let timer: NodeJS.Timeout | undefined
  const upload: Handler = (ctx) => storeUpload(files, ctx)
  const download: Handler = (ctx) => sendLinked(files, ctx)
  const middleware = (ctx: Context, next: Next) => stageFiles(files, ctx, next)
  Object.defineProperty(middleware, 'name', { value: 'storedFiles' })
  return {
    name: 'storedFiles',
    middleware: Object.assign(middleware, { extension: { storesFiles: true }, database }),
    needsSecret: 'Stored files',
    members: {
      sendFile: {
        value(this: Context, subject: Model | StoredFile, sending?: SendFileOptions) {
          return sendFile(files, this, subject, sending)
        },
      },
    },
    async start(logger: Logger, env: string) {
      files.env = env
      await checkFiles(files, logger)
      const sharp = loadSharp(database)
      if (sharp) files.variants = new Variants(files, sharp)
      if (files.byteStore instanceof FolderStore) void removeStaleUploads(Date.now(), files.uploads)
    },
    async checkRoutes(routes: readonly DeclaredRoute[], logger: Logger) {
      files.routes = new FileRoutes(routes)
      files.download = routes.find(({ declared }) => declared === download)
      for (const route of routes) {
        if (route.declared === upload) warnOfStrangers(route, logger)
        planUploads(files, route, route.declared === upload, middleware)
      }
    },
    listening(logger: Logger) {
      const run = () =>
        sweep.run(logger).catch((err: unknown) => logger.error({ err }, 'the sweep of stored files failed'))
      timer = setInterval(() => void run(), sweepEvery).unref()
    },
    stop() {
      clearInterval(timer)
      return table.stop()
    },
    store: async (source, { filename } = {}) => createFile(await files.store(source, filename)),
    read: (file) => files.read(file),
    signedUrl: (file, given) => signedUrl(files, file, given),
    download,
    upload,
    sweep: () => sweep.run(undefined, true),
    internal: files,
  }
}
