// Builds the handbook into static pages in scripts/docs/site: `npm run docs`. Any warning fails the build.
// DOCS_BASE is the path of the site on its host (/).
import { fileURLToPath } from 'node:url'
import { build } from 'vitepress'
import { copyPages } from './pages.js'

const here = fileURLToPath(new URL('.', import.meta.url))
const warnings = []
for (const method of ['warn', 'error']) console[method] = (...parts) => warnings.push(parts.join(' '))

copyPages()
await build(here)

if (warnings.length > 0) {
  process.stderr.write(`${warnings.join('\n')}\n`)
  process.exit(1)
}
