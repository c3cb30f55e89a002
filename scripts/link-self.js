// Lets examples/ use the package by its name: node_modules/resource-kit leads back to this folder, and `kit` to its command.
import { chmodSync, lstatSync, symlinkSync } from 'node:fs'

link('..', '../node_modules/resource-kit')
link('../resource-kit/dist/src/cli/main.js', '../node_modules/.bin/kit')
chmodSync(new URL('../dist/src/cli/main.js', import.meta.url), 0o755)

function link(target, path) {
  const file = new URL(path, import.meta.url)
  if (!lstatSync(file, { throwIfNoEntry: false })) symlinkSync(target, file, 'junction')
}
