// Runs the specs of poolers, failovers and clusters, which start all servers themselves. `--short`: a tenth of the requests.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { missingPackages } from '../dist/spec/cluster/support/programs.js'

const options = process.argv.slice(2).filter((option) => option !== '--short')
const isShort = process.argv.includes('--short')
const missing = missingPackages()

if (missing.length > 0) {
  console.log(`Left out: the specs of clusters. Run apt-get install ${missing.join(' ')}.`)
  process.exitCode = process.env.KIT_REQUIRE_ALL ? 1 : 0
} else {
  const mocha = fileURLToPath(new URL('../node_modules/mocha/bin/mocha.js', import.meta.url))
  const env = { ...process.env, KIT_ENGINE: 'sqlite', ...(isShort && { KIT_CLUSTER_SHORT: '1' }) }
  const args = [mocha, '--config', 'spec/suites/cluster.json', ...options]
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit', env }).status ?? 1
}
