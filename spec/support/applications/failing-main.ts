/** The `src/main.ts` of the application of orders-main.ts, which exits before it serves while the file of `FAILS` exists. */
import { existsSync } from 'node:fs'

if (existsSync(process.env['FAILS'] ?? '')) process.exit(1)
await import('./orders-main.js')
