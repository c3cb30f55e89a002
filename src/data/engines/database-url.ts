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
