import { existsSync } from 'node:fs'

/** The program of Chromium. */
export const chromiumPath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'

/** Whether Chromium is installed. */
export const hasChromium = existsSync(chromiumPath)

/** The advice for a machine without Chromium. */
export const chromiumAdvice = 'Install it (apt-get install chromium), or set CHROMIUM_PATH.'
