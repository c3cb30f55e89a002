import autocannon, { type Client, type Request } from 'autocannon'

/** What a load process is told to do. */
export interface Load {
  origin: string
  connections: number
  requests: Call[]
  /** How many requests; those of the list again from its beginning where it is shorter. */
  amount: number
  /** The status that every answer has to have. */
  status: number
}

/** A request. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  headers: Record<string, string>
  body?: string
}

/** What a load process has seen. Times are in milliseconds. */
export interface LoadResult {
  duration: number
  p50: number
  p99: number
  /** Statuses other than the one that was to come, and errors. */
  wrong: Record<string, number>
}

process.on('message', (load: Load) => {
  run(load).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})

async function run({ origin, connections, requests, amount, status }: Load): Promise<LoadResult> {
  const times: number[] = []
  const wrong: Record<string, number> = {}
  let next = 0
  const setupRequest = (request: Request): Request => ({ ...request, ...requests[next++ % requests.length] })
  const started = performance.now()
  let ended = started
  await autocannon({
    url: origin,
    connections,
    amount,
    timeout: 30,
    requests: [{ setupRequest }],
    setupClient: (client: Client) => {
      client.on('response', (answered, _bytes, time) => {
        times.push(time)
        ended = performance.now()
        if (answered !== status) wrong[answered] = (wrong[answered] ?? 0) + 1
      })
    },
  })
  times.sort((a, b) => a - b)
  return { duration: ended - started, p50: quantile(times, 0.5), p99: quantile(times, 0.99), wrong }
}

function quantile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
