import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Installs and compiles the NestJS application, whose packages are not among those of resource-kit. */
export function installNest(root: string): void {
  const folder = join(root, 'bench/applications/nest')
  if (!existsSync(join(folder, 'node_modules'))) {
    console.log('Installing the packages of bench/applications/nest.')
    execFileSync('npm', ['ci', '--silent', '--prefix', folder], { stdio: 'inherit' })
  }
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
    stdio: 'inherit',
  })
}
