import { STATUS_CODES } from 'node:http'
import { validate } from 'class-validator'
import type { Context, Next } from 'koa'
import type { FindManyOptions } from 'typeorm'
import { dataSource } from './database.js'
import { logger } from './log.js'
import { Post } from './post.js'

/** An error that becomes an answer. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

/** The messages of a record that is not valid. */
export class Invalid extends Failure {
  constructor(readonly errors: Record<string, string[]>) {
    super(422, 'The record is not valid.')
  }
}

/** Makes problem details of every error. */
export async function problems(ctx: Context, next: Next): Promise<void> {
  try {
    await next()
    if (ctx.status === 404 && ctx.body == null) throw new Failure(404, 'Not Found')
  } catch (error) {
    const failure = error instanceof Failure ? error : new Failure(500, 'Internal Server Error')
    if (failure.status === 500) logger.error(error)
    if (failure instanceof Invalid) ctx.set('Content-Language', 'en-US')
    else ctx.set('Cache-Control', 'no-store')
    ctx.status = failure.status
    ctx.vary('Accept')
    ctx.type = 'application/problem+json'
    ctx.body = JSON.stringify(problemOf(failure, ctx.state['requestId']))
  }
}

function problemOf(failure: Failure, requestId: string): object {
  const { status, message } = failure
  const problem = { status, title: STATUS_CODES[status], detail: message, request_id: requestId }
  if (!(failure instanceof Invalid)) return problem
  // The only rule of the peer's posts is that they have a title.
  const codes = Object.fromEntries(Object.keys(failure.errors).map((field) => [field, ['present']]))
  return { ...problem, errors: failure.errors, codes }
}

/** Answers with JSON. */
export function json(ctx: Context, value: unknown): void {
  ctx.vary('Accept')
  ctx.type = 'application/json; charset=utf-8'
  ctx.body = JSON.stringify(value)
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The id of the path, in lower case. */
export function idOf(ctx: Context): string {
  const id = String(ctx['params'].post_id)
  if (!UUID.test(id)) throw new Failure(404, 'Post not found.')
  return id.toLowerCase()
}

/** What is found, or 404. */
export function found(post: Post | null): Post {
  if (!post) throw new Failure(404, 'Post not found.')
  return post
}

/** The messages by field; undefined when nothing is wrong. */
export async function messagesOf(post: Post): Promise<Record<string, string[]> | undefined> {
  const errors = await validate(post)
  if (errors.length === 0) return undefined
  return Object.fromEntries(
    errors.map(({ property, constraints = {} }) => [property, [constraints['matches'] ?? 'is no text']]),
  )
}

/** One page of posts, newest first. */
export interface Page {
  posts: Post[]
  page: number
  pages: number
  links: (page: number) => string
}

/**
 * Reads the page that the query asks for, and sets the headers that speak of it.
 *
 * @param options which posts, and their order
 */
export async function paginate(
  ctx: Context,
  options: Pick<FindManyOptions<Post>, 'where' | 'order'> = {},
): Promise<Page> {
  const page = numberOf(ctx.query['page']) ?? 1
  const size = Math.min(numberOf(ctx.query['per_page']) ?? 20, 100)
  const [posts, total] = await dataSource.manager.findAndCount(Post, {
    order: { id: 'DESC' },
    ...options,
    skip: (page - 1) * size,
    take: size,
  })
  const pages = Math.max(1, Math.ceil(total / size))
  const links = (to: number): string => {
    const query = new URLSearchParams(ctx.querystring)
    query.set('page', String(to))
    return `${ctx.path}?${query}`
  }
  const link = [`<${links(1)}>; rel="first"`]
  if (page > 1) link.push(`<${links(Math.min(page - 1, pages))}>; rel="prev"`)
  if (page < pages) link.push(`<${links(page + 1)}>; rel="next"`)
  link.push(`<${links(pages)}>; rel="last"`)
  ctx.set('X-Total-Count', String(total))
  ctx.set('Link', link.join(', '))
  return { posts, page, pages, links: (to) => links(to).slice(ctx.path.length) }
}

function numberOf(text: unknown): number | undefined {
  const number = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : 0
  return number >= 1 ? number : undefined
}
