import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { freePort } from '../../support/servers/free-port.js'
import { Daemon, folderOf } from './daemon.js'
import { PROGRAMS } from './programs.js'

const user = 'nobody'

/** HAProxy with one frontend, which a spec reconfigures while it runs. */
export class HaProxy {
  private constructor(
    readonly port: number,
    readonly daemon: Daemon,
    private readonly folder: string,
  ) {}

  /** @param lines the lines of the section `listen main`, whose servers have names: `server pg1 127.0.0.1:5432` */
  static async start(lines: readonly string[]): Promise<HaProxy> {
    const [folder, port] = [folderOf(user), await freePort()]
    writeFileSync(join(folder, 'haproxy.cfg'), configuration(folder, port, lines))
    const daemon: Daemon = new Daemon({
      program: PROGRAMS.haproxy,
      args: ['-db', '-f', join(folder, 'haproxy.cfg')],
      user,
      folder,
      isReady: async (): Promise<boolean> => (await proxy.command('show info').catch(() => '')) !== '',
    })
    const proxy: HaProxy = new HaProxy(port, daemon, folder)
    await daemon.start()
    return proxy
  }

  /** A proxy of TCP connections to one of several servers: the first one, until `leadTo`. */
  static tcp(...ports: number[]): Promise<HaProxy> {
    const disabled = (index: number): string => (index === 0 ? '' : ' disabled')
    return HaProxy.start([
      'mode tcp',
      ...ports.map((port, index) => `server s${index} 127.0.0.1:${port}${disabled(index)}`),
    ])
  }

  /** A proxy of HTTP before the hosts of an application. It sends a request again only if it was not sent. */
  static http(...ports: number[]): Promise<HaProxy> {
    return HaProxy.start([
      'mode http',
      'option httpchk GET /up',
      'retries 3',
      'option redispatch',
      'retry-on conn-failure',
      'timeout check 2s',
      'default-server check inter 500 fall 2 rise 1',
      ...ports.map((port, index) => `server s${index} 127.0.0.1:${port}`),
    ])
  }

  /** Leads new connections to one of its servers. Open ones stay where they are. */
  async leadTo(index: number, count: number): Promise<void> {
    for (let other = 0; other < count; other += 1)
      await this.command(`${other === index ? 'enable' : 'disable'} server main/s${other}`)
  }

  /** Runs a command of its socket. */
  async command(line: string): Promise<string> {
    const socket = connect(join(this.folder, 'admin'))
    socket.end(`${line}\n`)
    return text(socket)
  }

  remove(): Promise<void> {
    return this.daemon.remove()
  }
}

function configuration(folder: string, port: number, lines: readonly string[]): string {
  return `global
  stats socket ${folder}/admin level admin
defaults
  timeout connect 2s
  timeout client 5m
  timeout server 5m
listen main
  bind 127.0.0.1:${port}
  ${lines.join('\n  ')}
`
}
