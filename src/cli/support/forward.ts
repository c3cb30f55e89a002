import { Agent, request, type IncomingMessage, type ServerResponse } from 'node:http'

/** Hands a request on to another address of this machine, and its answer back. */
export function forward(req: IncomingMessage, res: ServerResponse, address: string): void {
  const { connection: _connection, ...headers } = req.headers
  // A connection that is kept: the application closes no other one before it has read the body that it refuses, and
  // its answer would be lost.
  const agent = new Agent({ keepAlive: true })
  // The path is handed over as it came: read as a url, one that begins with two slashes would name another host.
  const target = { method: req.method, path: req.url, headers, agent }
  const onward = request(address, target, (answer) => {
    const { connection: _connection, ...rest } = answer.headers
    res.writeHead(answer.statusCode ?? 502, rest)
    answer.pipe(res)
  })
  onward.on('error', (error) => {
    if (res.headersSent) res.destroy()
    else showFailure(req, res, `The application did not respond: ${error.message}.`)
  })
  res.once('close', () => {
    onward.destroy()
    agent.destroy()
    // What is left of a refused body is read and forgotten.
    req.unpipe().resume()
  })
  req.pipe(onward)
}

/** Says why the application cannot answer. The page looks again each second, so that it goes when the reason has. */
export function showFailure(req: IncomingMessage, res: ServerResponse, text: string): void {
  const isPage = req.headers.accept?.includes('text/html') ?? false
  res.writeHead(500, {
    'Content-Type': `text/${isPage ? 'html' : 'plain'}; charset=utf-8`,
    'Cache-Control': 'no-store',
  })
  res.end(isPage ? page(text) : `${text}\n`)
}

function page(text: string): string {
  const [title = '', ...rest] = text.split('\n')
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta http-equiv="refresh" content="1">
    <title>${escape(title)}</title>
    <style>
      :root { color-scheme: light dark; font-family: system-ui, sans-serif }
      body { max-width: 70rem; margin: 3rem auto; padding: 0 1.5rem }
      pre { white-space: pre-wrap; line-height: 1.5 }
    </style>
  </head>
  <body>
    <h1>${escape(title)}</h1>
    <pre>${escape(rest.join('\n'))}</pre>
    <p>Save the correction, and this page shows the application again.</p>
  </body>
</html>
`
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
