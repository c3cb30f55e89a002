// Compiles the applications in examples/, all at once.
import { fileURLToPath } from 'node:url'
import { build } from '../dist/src/cli/support/compilation.js'
import { explain } from '../dist/src/cli/support/explain.js'
import './link-self.js'

process.env.GOGC = 'off'
try {
  await Promise.all(['blog', 'members'].map((name) => build(folderOf(name), 'everything')))
} catch (error) {
  console.error(explain(error))
  process.exitCode = 1
}

function folderOf(name) {
  return fileURLToPath(new URL(`../examples/${name}`, import.meta.url))
}
