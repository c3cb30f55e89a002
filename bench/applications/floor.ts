import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import Sqlite from 'better-sqlite3'
import { v7 as uuidv7 } from 'uuid'

/** What nobody goes below: node:http and better-sqlite3, without routes, negotiation, log, sessions or headers. */
const database = new Sqlite((process.env['DATABASE_URL'] ?? '').replace(/^sqlite:/, ''))
database.pragma('journal_mode = WAL')
database.pragma('synchronous = NORMAL')
database.pragma('foreign_keys = ON')

interface Row {
  id: string
  created_at: string
  updated_at: string
  title: string
  description: string | null
}

type Fields = Pick<Row, 'title' | 'description'>

const columns = 'id, created_at, updated_at, title, description'
const one = database.prepare<[string], Row>(`SELECT ${columns} FROM posts WHERE id = ?`)
const page = database.prepare<[number, number], Row>(
  `SELECT ${columns} FROM posts ORDER BY id DESC LIMIT ? OFFSET ?`,
)
const count = database.prepare<[], { total: number }>('SELECT count(*) AS total FROM posts')
const insert = database.prepare(`INSERT INTO posts (${columns}) VALUES (?, ?, ?, ?, ?)`)
const change = database.prepare('UPDATE posts SET title = ?, description = ?, updated_at = ? WHERE id = ?')
const remove = database.prepare('DELETE FROM posts WHERE id = ?')

const server = createServer(async (req, res) => {
  const [path = '', search = ''] = (req.url ?? '').split('?')
  const id = path.slice('/posts/'.length)
  if (req.method === 'GET') return id ? show(res, id) : list(req, res, new URLSearchParams(search))
  if (req.method === 'DELETE') return destroy(res, id)
  const body = fieldsOf(await read(req))
  if (!body.title.trim())
    return answer(res, 422, { status: 422, errors: { title: ['Title cannot be blank.'] } })
  if (req.method === 'POST') create(req, res, body)
  else update(res, id, body)
})

function show(res: ServerResponse, id: string): void {
  const row = one.get(id)
  if (row) answer(res, 200, shown(row))
  else answer(res, 404, { status: 404, title: 'Not Found', request_id: randomUUID() })
}

function list(req: IncomingMessage, res: ServerResponse, query: URLSearchParams): void {
  const size = Math.min(Number(query.get('per_page')) || 20, 100)
  const rows = page.all(size, ((Number(query.get('page')) || 1) - 1) * size)
  res.setHeader('X-Total-Count', String(count.get()?.total))
  if (!req.headers.accept?.includes('html')) return answer(res, 200, rows.map(shown))
  res.setHeader('Content-Type', 'text/html; charset=utf-8')
  const token = randomBytes(64).toString('base64url')
  res.end(`<!DOCTYPE html><table>${rows.map((row) => rowHtml(row, token)).join('')}</table>`)
}

function rowHtml({ id, title, description }: Row, token: string): string {
  return `<tr><th><a href="/posts/${id}">${title}</a></th><td>${description}</td><td><form action="/posts/${id}" method="post"><input type="hidden" name="authenticity_token" value="${token}"><button>Delete</button></form></td></tr>`
}

function fieldsOf(text: string): Fields {
  return text.startsWith('{')
    ? JSON.parse(text)
    : (Object.fromEntries(new URLSearchParams(text)) as unknown as Fields)
}

function create(req: IncomingMessage, res: ServerResponse, { title, description }: Fields): void {
  const now = stored(new Date())
  const row = { id: uuidv7(), created_at: now, updated_at: now, title, description }
  insert.run(row.id, now, now, title, description)
  res.setHeader('Location', `/posts/${row.id}`)
  answer(res, req.headers.accept?.includes('html') ? 303 : 201, shown(row))
}

function update(res: ServerResponse, id: string, { title, description }: Fields): void {
  const row = one.get(id)
  if (!row) return answer(res, 404, { status: 404 })
  const changed = { ...row, title, description, updated_at: stored(new Date()) }
  change.run(title, description, changed.updated_at, id)
  answer(res, 200, shown(changed))
}

function destroy(res: ServerResponse, id: string): void {
  const row = one.get(id)
  if (!row) return answer(res, 404, { status: 404 })
  remove.run(id)
  answer(res, 200, shown(row))
}

function answer(res: ServerResponse, status: number, value: unknown): void {
  res.statusCode = status
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  res.end(JSON.stringify(value))
}

async function read(req: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of req) text += String(chunk)
  return text
}

function stored(date: Date): string {
  return date.toISOString().replace('T', ' ').slice(0, -1)
}

function shown(row: Row): Row {
  return { ...row, created_at: iso(row.created_at), updated_at: iso(row.updated_at) }
}

function iso(text: string): string {
  return `${text.replace(' ', 'T')}Z`
}

server.listen(Number(process.env['PORT']), '127.0.0.1')
