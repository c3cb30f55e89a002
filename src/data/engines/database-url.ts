import { readFileSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { DeclarationError } from '../../errors.js'

/** The file of `sqlite:relative/path`, `sqlite:///absolute/path`, or `:memory:`. */
export function sqlitePath(url: string): string {
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=.)/, '')
  if (path === '' || path === '//') throw unknownUrl(url)
  return path === ':memory:' || isAbsolute(path) ? path : resolve(path)
}

/** The failure for a url of no engine that is known. */
export function unknownUrl(url: string): DeclarationError {
  return new DeclarationError(
    `Unknown database url "${hidePassword(url)}". Known urls: sqlite:relative/path, sqlite:///absolute/path, ` +
      'sqlite::memory:, postgres://user:password@host/name, mysql://user:password@host/name, mariadb://...',
  )
}

/** Where a database is, and who asks for it: the parts of a url, decoded. */
export interface ServerAddress {
  host: string
  port: number
  username: string
  password: string
  /** The name of the database; empty for none. */
  database: string
  parameters: URLSearchParams
}

/**
 * Reads the url of a database on a server.
 *
 * @throws DeclarationError when it is no url, or when something in it is not percent-encoded as it must be
 */
export function addressOf(url: string): ServerAddress {
  try {
    const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(url)
    return {
      host: decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1'),
      port: Number(port) || (protocol.startsWith('postgres') ? 5432 : 3306),
      username: decodeURIComponent(username),
      password: decodeURIComponent(password),
      database: decodeURIComponent(pathname.slice(1)),
      parameters: searchParams,
    }
  } catch {
    throw new DeclarationError(
      `The database url "${hidePassword(url)}" cannot be read. Write postgres://user:password@host:5432/name or ` +
        'mysql://user:password@host:3306/name, and percent-encode special characters in the user, password and name ' +
        '(%40 for @, %2F for /, %23 for #).',
    )
  }
}

/** The same server and user, with another database. */
export function withDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${encodeURIComponent(name)}`
  return other.href
}

/** What people call a database: its file, or its host, port and name; never a password. */
export function placeOf(url: string): string {
  if (url.startsWith('sqlite:')) return sqlitePath(url)
  const { host, port, database } = addressOf(url)
  const address = host.includes(':') ? `[${host}]` : host
  return `${url.slice(0, url.indexOf(':'))}://${address}:${port}/${database}`
}

/** A url as messages show it. */
export function hidePassword(url: string): string {
  return url.replace(/(:\/\/[^/@]*?:).*@/, '$1***@').replace(/([?&]password=)[^&]*/gi, '$1***')
}

/**
 * How a connection to MariaDB or MySQL is encrypted, by the words that `pg` knows: `sslmode=require` (and
 * `verify-full`, `ssl=true`) checks the server's certificate, against `sslrootcert` where that is given;
 * `no-verify` does not.
 *
 * @throws DeclarationError for another word, and for a file that cannot be read
 */
export function mysqlEncryption(url: string): { ca?: string; rejectUnauthorized?: boolean } | undefined {
  const { parameters } = addressOf(url)
  const mode = parameters.get('sslmode') ?? SSL[parameters.get('ssl') ?? ''] ?? 'disable'
  const file = parameters.get('sslrootcert')
  switch (mode) {
    case 'disable':
      return undefined
    case 'no-verify':
      return { rejectUnauthorized: false }
    case 'require':
    case 'verify-ca':
    case 'verify-full':
      return file ? { ca: readCertificate(file) } : {}
    default:
      throw new DeclarationError(
        `Unknown sslmode "${mode}". Known: disable, no-verify, require, verify-ca, verify-full.`,
      )
  }
}

const SSL: Record<string, string> = { true: 'require', 1: 'require', false: 'disable', 0: 'disable' }

function readCertificate(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new DeclarationError(`The certificate ${file} (sslrootcert) cannot be read.`, { cause })
  }
}
