import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './free-port.js'
import { temporaryFolder } from '../temporary-folder.js'

const program = '/usr/sbin/nginx'
const advice = 'Run apt-get install nginx-light.'

/**
 * Declares specs that need nginx. If it is not installed they are skipped, and one line reports it; with `KIT_REQUIRE_ALL`
 * in the environment they fail.
 */
export function describeBehindNginx(title: string, specs: () => void): void {
  if (existsSync(program) || process.env['KIT_REQUIRE_ALL']) describe(title, specs)
  else console.log(`Left out: the specs of nginx, because it is not installed. ${advice}`)
}

/** An nginx for one spec, on a free port. */
export interface Nginx {
  url: string
  stop(): Promise<void>
}

/**
 * Starts nginx as the proxy of a server, with the headers that docs/deploying.md describes.
 *
 * @param settings further lines of its configuration
 */
export async function startNginx(server: string, settings = ''): Promise<Nginx> {
  if (!existsSync(program)) throw new Error(`There is no nginx at ${program}. ${advice}`)
  const folder = temporaryFolder()
  const port = await freePort()
  mkdirSync(join(folder, 'logs'))
  writeFileSync(join(folder, 'nginx.conf'), configuration(server, port, settings))
  const child = spawn(program, ['-p', folder, '-c', 'nginx.conf', '-e', 'logs/error.log'], {
    stdio: 'ignore',
  })
  const ended = once(child, 'close')
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error('nginx does not start')
    await delay(10)
  }
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true })
    },
  }
}

function configuration(server: string, port: number, settings: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path logs/${name};`,
  )
  return `
daemon off;
master_process off;
pid nginx.pid;
events {}
http {
  access_log off;
  ${settings}
  ${temporary.join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass ${server};
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
    }
  }
}
`
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}
