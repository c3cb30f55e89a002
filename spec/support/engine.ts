/** The engines that the specs run on. */
export type Engine = 'sqlite' | 'postgres' | 'mariadb'

/** The engines that are servers. */
export type ServerEngine = Exclude<Engine, 'sqlite'>

/** The engine of this run: the one of `KIT_ENGINE`, or SQLite. */
export const engine = engineOf(process.env['KIT_ENGINE'] || 'sqlite')

/**
 * Declares specs that do not depend on the engine, in a file that runs on each of them: they run once, on SQLite. Files
 * that run once as a whole are those that spec/suites/servers.yml does not list.
 */
export function describeOnce(title: string, specs: (this: Mocha.Suite) => void): void {
  if (engine === 'sqlite') describe(title, specs)
}

/** The same for a single spec. */
export function itOnce(title: string, spec: (this: Mocha.Context) => unknown): void {
  if (engine !== 'sqlite') return
  it(title, async function () {
    await spec.call(this)
  })
}

function engineOf(name: string): Engine {
  if (name === 'sqlite' || name === 'postgres' || name === 'mariadb') return name
  throw new Error(`KIT_ENGINE is "${name}". Known engines: sqlite, postgres, mariadb.`)
}
