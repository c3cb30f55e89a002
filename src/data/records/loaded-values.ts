/** The value of each property when it was loaded or saved, and the elements of a list, because lists can be changed. */
const loadedValues = new WeakMap<object, Map<string, { value: unknown; elements: readonly unknown[] }>>()

/** Marks the current value of a property as loaded: it is not written with the record. */
export function markLoaded(record: object, property: string): void {
  const values =
    loadedValues.get(record) ?? new Map<string, { value: unknown; elements: readonly unknown[] }>()
  const value: unknown = Reflect.get(record, property)
  loadedValues.set(record, values.set(property, { value, elements: elementsOf(value) }))
}

/** Forgets the value with which a property was loaded: whatever is assigned later is written. */
export function forgetLoaded(record: object, property: string): void {
  loadedValues.get(record)?.delete(property)
}

/** Whether a property has the value with which it was loaded. A list with equal elements that was assigned is another value. */
export function isAsLoaded(record: object, property: string): boolean {
  const loaded = loadedValues.get(record)?.get(property)
  const value: unknown = Reflect.get(record, property)
  if (!loaded || loaded.value !== value) return false
  const elements = elementsOf(value)
  return (
    elements.length === loaded.elements.length &&
    elements.every((element, index) => element === loaded.elements[index])
  )
}

function elementsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? [...value] : []
}
