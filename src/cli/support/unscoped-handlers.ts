import type { DeclaredRoute } from '../../routing/declared-route.js'

/**
 * Whether the handler of a resource with a policy uses `ctx.tx`, which the policy does not limit. Reads the source text of the
 * handler and of the methods that it calls on its own class, and no other functions.
 */
export function isUnscoped({ resource }: DeclaredRoute): boolean {
  return resource !== undefined && resource.policies.length > 0 && usesTx(resource.class, resource.action)
}

function usesTx({ prototype }: { prototype: object }, name: string, seen = new Set<string>()): boolean {
  const method: unknown = Reflect.get(prototype, name)
  if (typeof method !== 'function' || seen.has(name)) return false
  seen.add(name)
  const source = Function.prototype.toString.call(method)
  // `ctx.tx`, or `{ tx }` in a parameter or a declaration.
  if (/\.tx\b|[{,]\s*tx\s*[,:}]/.test(source)) return true
  const called = [...source.matchAll(/\bthis\.(\w+)\(/g)].map(([, other = '']) => other)
  return called.some((other) => usesTx({ prototype }, other, seen))
}
