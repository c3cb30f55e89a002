import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DeclarationError } from '../../index.js'
import { FolderStore } from './folder.js'
import type { S3Bucket, S3Credentials } from './s3.js'
import type { FileStore } from './store.js'

/**
 * Opens the store of an environment: that of `FILES_URL`, or in the test environment of `TEST_FILES_URL`.
 *
 * @param credentials returns the keys of a bucket (those of `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`)
 * @throws DeclarationError when the URL is malformed, or when a bucket lacks its region or keys
 */
export async function openStore(env: string, credentials?: S3Bucket['credentials']): Promise<FileStore> {
  const name = env === 'test' ? 'TEST_FILES_URL' : 'FILES_URL'
  const url = process.env[name] || (env === 'test' ? `file:${folderOfProcess()}` : 'file:storage')
  if (url.startsWith('file://')) return new FolderStore(fileURLToPath(url))
  if (url.startsWith('file:')) return new FolderStore(resolve(url.slice('file:'.length)))
  const bucket = readBucket(name, url, credentials)
  // aws4fetch is loaded for buckets only.
  const { S3Store } = await import('./s3.js')
  return new S3Store(bucket)
}

/** Reads `s3://bucket/prefix?region=eu-central-1&endpoint=https://...`. */
function readBucket(
  name: string,
  text: string,
  credentials: S3Bucket['credentials'] = () => credentialsIn(process.env),
): S3Bucket {
  const { protocol, hostname: bucket, pathname, searchParams } = new URL(URL.canParse(text) ? text : 'none:')
  const endpoint = searchParams.get('endpoint')
  if (protocol !== 's3:' || bucket === '' || (endpoint !== null && !/^https?:\/\/[^/]/.test(endpoint)))
    throw new DeclarationError(
      `${name} is "${text}". Use a folder, such as file:storage or file:///srv/storage, or a bucket, such as ` +
        's3://bucket/prefix?region=eu-central-1.',
    )
  const region = searchParams.get('region') ?? process.env['AWS_REGION'] ?? ''
  if (region === '')
    throw new DeclarationError(
      `${name} names the bucket ${bucket} without its region. Add it, as in s3://${bucket}?region=eu-central-1, or set AWS_REGION.`,
    )
  const prefix = pathname.replace(/^\/+/, '').replace(/([^/])$/, '$1/')
  const url = endpoint
    ? `${endpoint.replace(/\/+$/, '')}/${bucket}/`
    : `https://${bucket}.s3.${region}.amazonaws.com/`
  return { url, prefix, region, credentials }
}

/** @throws DeclarationError when the variables are missing */
function credentialsIn(env: NodeJS.ProcessEnv): S3Credentials {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = env
  if (accessKeyId && secretAccessKey) return { accessKeyId, secretAccessKey, sessionToken }
  throw new DeclarationError(
    'The bucket of FILES_URL needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the `credentials` option of storedFiles().',
  )
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
