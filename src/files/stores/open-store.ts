import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DeclarationError } from '../../index.js'
import { FolderStore } from './folder.js'
import type { FileStore } from './store.js'

/** Opens the store of an environment: `FILES_URL`, or in the test environment `TEST_FILES_URL`. */
export function openStore(env: string): FileStore {
  const name = env === 'test' ? 'TEST_FILES_URL' : 'FILES_URL'
  const url = process.env[name] || (env === 'test' ? undefined : 'file:storage')
  if (url === undefined) return new FolderStore(folderOfProcess())
  if (url.startsWith('file:')) return new FolderStore(folderOf(url))
  throw new DeclarationError(
    `${name} is "${url}". Use a folder, such as file:storage or file:///srv/storage.`,
  )
}

function folderOf(url: string): string {
  return url.startsWith('file://') ? fileURLToPath(url) : resolve(url.slice('file:'.length))
}

let temporary: string | undefined

/** A folder that is deleted when the process ends. */
function folderOfProcess(): string {
  if (temporary === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'resource-kit-files-'))
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    temporary = folder
  }
  return temporary
}
