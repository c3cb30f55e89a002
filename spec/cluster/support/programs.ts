import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of the newest programs of PostgreSQL. */
export function postgresProgram(name: string): string {
  const all = '/usr/lib/postgresql'
  const versions = existsSync(all) ? readdirSync(all).toSorted((a, b) => Number(b) - Number(a)) : []
  return join(all, versions[0] ?? '15', 'bin', name)
}

export const PROGRAMS = {
  pgbouncer: '/usr/sbin/pgbouncer',
  haproxy: '/usr/sbin/haproxy',
  mariadbd: '/usr/sbin/mariadbd',
  galera: '/usr/lib/galera/libgalera_smm.so',
  redis: '/usr/bin/redis-server',
  sentinel: '/usr/bin/redis-sentinel',
}

/** The Debian packages whose programs are not there. */
export function missingPackages(): string[] {
  const files: Record<string, string> = {
    postgresql: postgresProgram('postgres'),
    pgbouncer: PROGRAMS.pgbouncer,
    haproxy: PROGRAMS.haproxy,
    'mariadb-server': PROGRAMS.mariadbd,
    'galera-4': PROGRAMS.galera,
    'redis-server': PROGRAMS.redis,
    'redis-sentinel': PROGRAMS.sentinel,
  }
  return Object.keys(files).filter((name) => !existsSync(files[name] ?? ''))
}

/** Whether the specs run in their short form, with a tenth of the requests. */
export const isShort = Boolean(process.env['KIT_CLUSTER_SHORT'])

/** The number of requests of a spec, or a tenth of it. */
export function requests(count: number): number {
  return isShort ? Math.ceil(count / 10) : count
}
