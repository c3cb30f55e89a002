import { Agent, request, type IncomingMessage, type ServerResponse } from 'node:http'

/** Forwards a request to another local address, and sends back the response. */
export function forward(req: IncomingMessage, res: ServerResponse, address: string): void {
  const { connection: _connection, ...headers } = req.headers
  // The application would close a connection without keep-alive before it has read a rejected body, and the
  // response would be lost.
  const agent = new Agent({ keepAlive: true })
  // The path is forwarded unchanged. Parsed as a URL, a path that begins with two slashes would have another
  // host.
  const target = { method: req.method, path: req.url, headers, agent }
  const onward = request(address, target, (response) => {
    const { connection: _connection, ...rest } = response.headers
    res.writeHead(response.statusCode ?? 502, rest)
    response.pipe(res)
  })
  onward.on('error', (error) => {
    if (res.headersSent) res.destroy()
    else showFailure(req, res, `The application did not respond: ${error.message}.`)
  })
  res.once('close', () => {
    onward.destroy()
    agent.destroy()
    // The rest of a rejected body is read and discarded.
    req.unpipe().resume()
  })
  req.pipe(onward)
}

/** Shows why the application does not respond. The page reloads each second until it does. */
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
