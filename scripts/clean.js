// Removes what was compiled, so that a file that is gone from the sources does not live on there.
import { rmSync } from 'node:fs'

rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true })
