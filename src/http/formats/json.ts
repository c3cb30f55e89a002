import type { Format } from './format.js'

/** The format JSON. */
export const json: Format = {
  mediaTypes: ['application/json'],
  problemType: 'application/problem+json',
  write: JSON.stringify,
  writeProblem: JSON.stringify,
}
