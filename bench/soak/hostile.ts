/**
 * Sends thousands of hostile requests to an application that `kit start` serves, half of them through a proxy that cuts
 * connections, and looks whether it still responds, and has all connections, upload slots and memory that it had before.
 *
 *     npm run soak:hostile -- --requests 10000 --seed 1 --without "response of rows"
 *
 * It runs on SQLite, PostgreSQL and MariaDB, or on KIT_ENGINE only. On the servers, the connections to the database are cut,
 * too. The status is 1 when a rule was broken. For Linux.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openShop } from '../../spec/support/applications/hostile-shop.js'
import { assault, databaseCuts } from '../../spec/support/fuzz/assault.js'
import { mochaGlobalSetup, mochaGlobalTeardown } from '../../spec/support/setup.js'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    without: { type: 'string', multiple: true, default: [] },
  },
})

if (process.env['KIT_ENGINE']) await attackOne(process.env['KIT_ENGINE'])
else attackAll()

/** The engine of a process is that of its environment. */
function attackAll(): void {
  const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2), '--seed', values.seed]
  for (const KIT_ENGINE of ['sqlite', 'postgres', 'mariadb']) {
    const env = { ...process.env, KIT_ENGINE }
    const { status } = spawnSync(process.execPath, ['--enable-source-maps', ...args], {
      env,
      stdio: 'inherit',
    })
    if (status !== 0) process.exitCode = 1
  }
}

async function attackOne(engine: string): Promise<void> {
  const requests = Number(values.requests)
  const seed = Number(values.seed)
  console.log(`${engine}: ${requests} requests, seed ${seed}`)
  await mochaGlobalSetup()
  const shop = await openShop(databaseCuts(seed))
  try {
    const options = { requests, seed, without: values.without, progress: console.log }
    const { flaws, statuses, errors } = await assault(shop, options)
    console.log(`Statuses: ${summary(statuses)}`)
    console.log(`Errors in the log: ${summary(errors) || 'none'}`)
    console.log(flaws.length === 0 ? 'The application has held.' : flaws.join('\n'))
    if (flaws.length > 0) process.exitCode = 1
  } finally {
    await shop.close()
    await mochaGlobalTeardown()
  }
  process.exit()
}

function summary(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${count} x ${what}`)
    .join(', ')
}
