import { setTimeout as delay } from 'node:timers/promises'

/** Waits until something is true. The timeout of the spec limits it. */
export async function until(isTrue: () => unknown): Promise<void> {
  while (!(await isTrue())) await delay(20)
}
