import { PerRequest } from './per-request.js'

/** The record of the bearer token that authenticates a request. */
export const bearerToken = new PerRequest<object>()

/** To whom the idempotency keys of a request belong besides its user: the membership in the path's team. */
export const keyOwner = new PerRequest<string>()
