import type { Format } from './format.js'

/** The format JSON. */
export const json: Format = {
  mediaTypes: ['application/json'],
  problemType: 'application/problem+json',
  write: (value) => JSON.stringify(value),
  writeProblem: JSON.stringify,
}
