/** Whether lists and objects are nested too deep for what walks through them: JSON.stringify, transformers, the log. */
export function isTooDeep(value: unknown, levels = 100): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1))
}
