/** Loaded into a server before its own code: tells the benchmark what the process has used. */
export interface Usage {
  /** Microseconds of CPU since the process began. */
  cpu: number
  /** Bytes of memory. */
  memory: number
}

process.on('message', (message) => {
  if (message !== 'usage') return
  const { user, system } = process.cpuUsage()
  process.send?.({ cpu: user + system, memory: process.memoryUsage.rss() } satisfies Usage)
})
process.channel?.unref()
