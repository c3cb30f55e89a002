import { validate } from '../models/validation/validation.js'
import type { Model } from '../models/model.js'

/**
 * Returns the rules that a record breaks, by attribute: those of its decorators, as `ctx.save` checks them. It saves nothing, and
 * calls no hook.
 *
 * @example expect(await brokenRules(new Post())).to.deep.equal({ title: ['present'] })
 */
export async function brokenRules(record: Model): Promise<Record<string, string[]>> {
  return (await validate(record))?.codes ?? {}
}
