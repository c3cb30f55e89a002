// Compiles the framework into an empty dist/, and makes the package in dist/package.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import './clean.js'

const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))
// Without garbage collection, the compiler needs two thirds of the time.
const env = { ...process.env, GOGC: 'off' }
process.exitCode = spawnSync(process.execPath, [compiler], { env, stdio: 'inherit' }).status ?? 1
if (process.exitCode === 0) await import('./package.js')
