import { isAbsolute, resolve } from 'node:path'
import { DeclarationError } from '../../errors.js'

/**
 * Returns the absolute path of the file in `sqlite:relative/path` or `sqlite:///absolute/path`, or
 * `:memory:`.
 *
 * @throws DeclarationError when the URL has no path
 */
export function sqlitePath(url: string): string {
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=.)/, '')
  if (path === '' || path === '//') throw unknownUrl(url)
  return path === ':memory:' || isAbsolute(path) ? path : resolve(path)
}

/** Returns the error for a URL that no engine supports. */
export function unknownUrl(url: string): DeclarationError {
  return new DeclarationError(
    `Unsupported database URL "${hidePassword(url)}". Supported URLs: sqlite:relative/path, sqlite:///absolute/path, ` +
      'sqlite::memory:, postgres://user:password@host/name, mysql://user:password@host/name, mariadb://...',
  )
}

/** The parts of a server's URL, decoded. */
export interface ServerAddress {
  /** An IPv6 address has no brackets here. */
  host: string
  port: number
  username: string
  password: string
  /** The name of the database; empty for none. */
  database: string
  parameters: URLSearchParams
}

/**
 * Parses the URL of a database on a server.
 *
 * @throws DeclarationError when it is not a valid URL, or when its percent-encoding is malformed
 */
export function addressOf(url: string): ServerAddress {
  try {
    const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(url)
    // A slash too many or too few makes the user and the password a part of the path.
    if (hostname === '' && pathname.includes('@')) throw new TypeError('There is no host.')
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

/** Returns a URL with the same server and user, and another database. */
export function withDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${encodeURIComponent(name)}`
  return other.href
}

/** The name of a database for people: its file, or its host, port and name, without the password. */
export function placeOf(url: string): string {
  if (url.startsWith('sqlite:')) return sqlitePath(url)
  const { host, port, database } = addressOf(url)
  const address = host.includes(':') ? `[${host}]` : host
  return `${url.slice(0, url.indexOf(':'))}://${address}:${port}/${database}`
}

/** A URL for messages, without its password. */
export function hidePassword(url: string): string {
  return url.replace(/^(\w+:\/*[^/@]*?:).*@/, '$1***@').replace(/([?&](?:ssl)?password=)[^&]*/gi, '$1***')
}
