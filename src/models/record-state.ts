/** The state of a record that is not in its properties. */
interface RecordState {
  /** The value of each property when it was loaded or saved, and the elements of a list, which can change in place. */
  readonly loaded: Map<string, { value: unknown; elements: readonly unknown[] }>
  /** Whether the record was read with a lock. */
  isLocked: boolean
  /** The conditions by which the record was found, if its model has a version and they do not contain its id. */
  conditions?: object
}

const states = new WeakMap<object, RecordState>()

function stateOf(record: object): RecordState {
  let state = states.get(record)
  if (!state) states.set(record, (state = { loaded: new Map(), isLocked: false }))
  return state
}

export function markLocked(record: object): void {
  stateOf(record).isLocked = true
}

export function isLocked(record: object): boolean {
  return states.get(record)?.isLocked === true
}

/** Stores the conditions by which a record was found, because its values can change later. */
export function storeConditions(record: object, conditions: object): void {
  stateOf(record).conditions = conditions
}

/** The conditions by which a record of a model with versions was found; undefined if they contained its id. */
export function conditionsOf(record: object): object | undefined {
  return states.get(record)?.conditions
}

/** Marks the current value of a property as loaded, so that it is not written with the record. */
export function markLoaded(record: object, property: string): void {
  const value: unknown = Reflect.get(record, property)
  stateOf(record).loaded.set(property, { value, elements: elementsOf(value) })
}

/** The elements of the list that a property was loaded with; undefined if it was not loaded. */
export function loadedElements(record: object, property: string): readonly unknown[] | undefined {
  return states.get(record)?.loaded.get(property)?.elements
}

/** Forgets the value with which a property was loaded, so that the next value is written. */
export function forgetLoaded(record: object, property: string): void {
  states.get(record)?.loaded.delete(property)
}

/** Whether a property has the value with which it was loaded. A list with equal elements that was assigned is another value. */
export function isUnchanged(record: object, property: string): boolean {
  const loaded = states.get(record)?.loaded.get(property)
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

/** The places of the lines of a record in the list of a body. */
const places = new WeakMap<object, number>()

/** Notes the place of a line in the list of a body. */
export function setPlace(line: object, place: number): void {
  places.set(line, place)
}

/** The place of a line in the body, by which its errors are named; else its index in the list. */
export function placeOf(line: object, index: number): number {
  return places.get(line) ?? index
}
