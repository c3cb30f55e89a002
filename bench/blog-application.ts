import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of the web application, from the root of the checkout. */
export const blogFolder = 'bench/results/blog'

/** Generates and compiles the web application that is measured: `kit new`, and a resource without options. */
export function generateBlog(root: string): void {
  const folder = join(root, blogFolder)
  const parent = join(folder, '..')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(parent, { recursive: true })
  const kit = (cwd: string, ...words: string[]): void => {
    execFileSync(process.execPath, [join(root, 'dist/src/cli/main.js'), ...words], {
      cwd,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  }
  kit(parent, 'new', 'blog', '--skip-install', '--kit', '^0.1.0')
  kit(folder, 'generate', 'resource', 'post', 'title', 'description:nulls.Text')
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
    stdio: 'inherit',
  })
}
