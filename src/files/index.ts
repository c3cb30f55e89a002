/**
 * Stored files: attributes of models whose bytes are in a folder or in a bucket.
 *
 * @module resource-kit/files
 */

export {
  HasFile,
  HasFiles,
  type Bytes,
  type FileOptions,
  type FilesOptions,
  type VariantOptions,
} from './declaration.js'
export { storedFiles, type StoredFiles, type StoredFilesOptions } from './stored-files.js'
export { storedFilesTable } from './file-table.js'
export type { FileSource } from './receiving.js'
export type { SendFileOptions } from './serving.js'
export type { StoredFile } from './stored-file.js'
export type { SignedUrlOptions } from './signed-urls.js'
export type { FilesStores } from './files.js'
export type { S3Credentials } from './stores/s3.js'
export { FileMissing, type FileStore, type LocalFile } from './stores/store.js'
export type { Swept } from './sweep.js'
export type { Duration } from '../extension.js'
