import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The folder of Linux whose files are in memory. No transaction waits for a disk there. */
const MEMORY = '/dev/shm'

/** The name of the run, with which its databases and folders begin. The first process makes it, and the others inherit it. */
export const runName = (process.env['KIT_SPEC_RUN'] ??=
  `kit_spec_${seconds()}_${crypto.randomUUID().slice(0, 4)}`)

/** Whether a database or folder of this name belongs to a run that was killed: no run takes an hour. */
export function isLeftOver(name: string): boolean {
  const [, made] = /^kit_spec_(\d+)_/.exec(name) ?? []
  return made !== undefined && Number(made) < seconds() - 3600
}

function seconds(): number {
  return Math.floor(Date.now() / 1000)
}

/** The folder of the run's files. */
export function runFolder(): string {
  return make(join(tmpdir(), runName))
}

/** The folder of the run's databases. Their files are in memory if there is space: containers may have a few megabytes. */
export function runFolderInMemory(): string {
  const { blocks, bsize } = existsSync(MEMORY) ? statfsSync(MEMORY) : { blocks: 0, bsize: 0 }
  return blocks * bsize >= 2 ** 30 ? make(join(MEMORY, runName)) : runFolder()
}

function make(folder: string): string {
  mkdirSync(folder, { recursive: true })
  return folder
}

/** Deletes the folders of runs. */
export function deleteFolders(isOver: (name: string) => boolean): void {
  for (const parent of [tmpdir(), MEMORY].filter((folder) => existsSync(folder)))
    for (const name of readdirSync(parent))
      if (isOver(name)) rmSync(join(parent, name), { recursive: true, force: true, maxRetries: 5 })
}
