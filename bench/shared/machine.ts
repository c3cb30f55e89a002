import { cpus, totalmem } from 'node:os'

/** What the figures were measured on. */
export interface Machine {
  node: string
  cores: number
  memory: string
  platform: string
}

/** This machine, described generally. */
export function machine(): Machine {
  return {
    node: process.version,
    cores: cpus().length,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    platform: `${process.platform} ${process.arch}`,
  }
}
