import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'

/** The folder of the web application, from the root of the checkout. */
export const blogFolder = 'bench/results/blog'

/** The folder of the API application whose start is measured, from the root of the checkout. */
export const apiFolder = 'bench/results/api'

/** Generates and compiles the web application that is measured: `kit new`, and a resource without options. */
export function generateBlog(root: string): void {
  generate(root, blogFolder)
}

/** Generates and compiles the API application whose start is measured, with the package that users install. */
export function generateApi(root: string): void {
  generate(root, apiFolder, '--api')
  cpSync(join(root, 'dist/package'), join(root, apiFolder, 'node_modules/resource-kit'), { recursive: true })
}

function generate(root: string, path: string, ...options: string[]): void {
  const folder = join(root, path)
  const parent = join(folder, '..')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(parent, { recursive: true })
  const kit = (cwd: string, ...words: string[]): void => {
    execFileSync(process.execPath, [join(root, 'dist/src/cli/main.js'), ...words], {
      cwd,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  }
  kit(parent, 'new', basename(path), '--skip-install', '--kit', '^0.1.0', ...options)
  kit(folder, 'generate', 'resource', 'post', 'title', 'description:nulls.text')
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
    stdio: 'inherit',
  })
}
