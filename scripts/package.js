// Makes dist/package, which is what users install: the compiled files of src as a few chunks, because each file that Node loads
// takes time. Their source maps lead to src. In the checkout everything imports dist/src, so that no class exists twice.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const compiled = join(root, 'dist/src')
const target = join(root, 'dist/package')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })
for (const file of [...manifest.files, 'README.md', 'LICENSE'])
  cpSync(join(root, file), join(target, file), { recursive: true, filter: isCopied })
const { scripts: _, devDependencies: __, allowScripts: ___, private: ____, ...published } = manifest
writeFileSync(join(target, 'package.json'), JSON.stringify(published, null, 2) + '\n')
await bundle()

/** Of dist/src, only the declarations are copied. */
function isCopied(file) {
  return !file.startsWith(compiled + sep) || file.endsWith('.d.ts') || !/\.\w+$/.test(file)
}

/** Writes an entry file for each file that is loaded by its path, and chunks with the rest. */
async function bundle() {
  const entries = [...entryFiles()]
  const isEntry = new Set(entries.map((file) => join(compiled, file)))
  const bundled = await rolldown({
    cwd: root,
    input: Object.fromEntries(entries.map((file) => [file.replace(/\.js$/, ''), join(compiled, file)])),
    platform: 'node',
    external: (id) => !/^[./]/.test(id),
    // Modules keep their order and all that they do when they are loaded.
    treeshake: false,
    // A slow machine is no mistake of the build.
    checks: { bundlerTimings: false },
    plugins: [{ name: 'paths', load: (file) => load(file, isEntry), renderChunk: placeFolders }],
  })
  // The maps name their sources relative to the place where they are written: the layout is that of the package.
  const { output } = await bundled.generate({
    dir: compiled,
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
  })
  await bundled.close()
  for (const { fileName, type, code, source } of output) {
    const path = join(target, 'dist/src', fileName)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, type === 'chunk' ? code : withoutSources(source))
  }
}

/** The exports and the command of package.json, and the commands that `command-list.ts` loads by their names. */
function* entryFiles() {
  for (const { default: file } of Object.values(manifest.exports))
    if (file) yield posix.relative('dist/src', file)
  yield posix.relative('dist/src', manifest.bin.kit)
  for (const file of readdirSync(join(compiled, 'cli/commands')))
    if (file.endsWith('.js')) yield `cli/commands/${file}`
}

/** Reads a compiled file with its map. Its `import.meta.dirname` stays the folder of dist/src that it was written for. */
function load(file, isEntry) {
  const text = readFileSync(file, 'utf8')
  if (
    !isEntry.has(file) &&
    /import\.meta\.(?!dirname|resolve)/.test(text.replaceAll('createRequire(import.meta.url)', ''))
  )
    throw new Error(
      `${file} may not depend on its own path, because it is part of a chunk: use import.meta.dirname.`,
    )
  const folder = relative(compiled, dirname(file)).replaceAll(sep, '/')
  const code = text.replaceAll('import.meta.dirname', `(import.meta.dirname + '/<dist/src>/${folder}')`)
  return { code, map: JSON.parse(readFileSync(`${file}.map`, 'utf8')) }
}

/** Completes the folders of `load`, now that the place of the chunk is known. */
function placeFolders(code, { fileName }) {
  const up = posix.relative(posix.dirname(fileName), '.') || '.'
  return { code: code.replaceAll('<dist/src>', up), map: null }
}

/** The package has the sources as files. */
function withoutSources(map) {
  const { sourcesContent: _, ...rest } = JSON.parse(map)
  return JSON.stringify(rest)
}
