import { expect } from 'chai'
import * as errors from '../../../src/errors.js'
import { BadRequest, HttpError, ValidationErrors } from '../../../src/errors.js'
import { problemOf, statusOf } from '../../../src/http/errors/problem.js'

describe('statusOf(error)', () => {
  const rows: Array<[error: unknown, status: number]> = [
    [new BadRequest('x'), 400],
    [new HttpError(418, 'x'), 418],
    [Object.assign(new Error('made by http-errors'), { status: 402, expose: true }), 402],
    [Object.assign(new Error('of another service'), { status: 404 }), 500],
    [new Error('x'), 500],
    [{ status: 404 }, 500],
    ...[200, 399, 600, 404.5, Number.NaN, '404', null].map((status): [unknown, number] => [{ status }, 500]),
    ...['text', undefined, null, 404].map((error): [unknown, number] => [error, 500]),
  ]
  for (const [error, status] of rows) {
    it(`is ${status} for ${error instanceof Error ? error.name : JSON.stringify(error)}`, () => {
      expect(statusOf(error)).to.equal(status)
    })
  }
})

const ctx = { requestId: 'id', t: (id: string) => `the text of ${id}` }

describe('problemOf(error, ctx)', () => {
  it('contains the message of an error of the framework', () => {
    expect(problemOf(new BadRequest('The body is malformed.'), ctx)).to.deep.equal({
      status: 400,
      title: 'Bad Request',
      detail: 'The body is malformed.',
      request_id: 'id',
    })
  })

  it('contains the messages of an invalid record', () => {
    const errors = new ValidationErrors().add('title', 'present', 'Title cannot be blank.')
    expect(problemOf(errors, ctx)).to.deep.equal({
      status: 422,
      title: 'Unprocessable Entity',
      detail: 'the text of error.422.record',
      request_id: 'id',
      errors: { title: ['Title cannot be blank.'] },
      codes: { title: ['present'] },
    })
  })

  it('contains no message of any other error', () => {
    const problem = { status: 500, title: 'Internal Server Error', request_id: 'id' }
    expect(problemOf(new Error('the password is 123'), ctx)).to.deep.equal(problem)
    expect(problemOf('the password is 123', ctx)).to.deep.equal(problem)
    expect(problemOf(Object.assign(new Error('x'), { status: 500, expose: true }), ctx)).to.deep.equal(
      problem,
    )
  })

  it('contains the message of another error below 500 that exposes itself, like those of http-errors', () => {
    const error = Object.assign(new Error('no coffee'), { status: 418, expose: true })
    expect(problemOf(error, ctx)).to.include({ status: 418, title: "I'm a Teapot", detail: 'no coffee' })
  })

  it('has a title for an unknown status', () => {
    expect(problemOf(new HttpError(499, 'x'), ctx).title).to.equal('Error')
  })

  const types: [error: HttpError, status: number, type: string][] = [
    [new errors.StaleRecord(), 409, 'stale-record'],
    [new errors.PreconditionFailed('x'), 412, 'precondition-failed'],
    [new errors.PreconditionRequired('lock_version'), 428, 'precondition-required'],
    [new errors.IdempotencyKeyReused(), 422, 'idempotency-key-reused'],
    [new errors.ResponseNotKept('/posts/1'), 409, 'response-not-kept'],
  ]
  for (const [error, status, type] of types) {
    it(`has the type ${type} for ${error.name}, whose status says too little`, () => {
      expect(problemOf(error, ctx)).to.include({ type: `urn:resource-kit:${type}`, status })
    })
  }

  it('contains the type that an application gives to its own error', () => {
    class OutOfCredit extends HttpError {
      override readonly type = 'https://shop.example/problems/out-of-credit'
    }
    const error = new OutOfCredit(402, 'There is no credit left.')
    expect(problemOf(error, ctx).type).to.equal('https://shop.example/problems/out-of-credit')
  })

  it('tells that a record is stale, for which no other record is to blame', () => {
    expect(problemOf(new errors.StaleRecord(), ctx)).to.include({ detail: 'the text of error.409.stale' })
    expect(problemOf(new errors.StaleRecord(), ctx).codes).to.deep.equal({ base: ['stale'] })
  })
})
