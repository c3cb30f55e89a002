/** Whether the status of a response has been set. Only a private field tells Koa's default 404 apart. */
export function hasStatus({ response }: { readonly response: object }): boolean {
  return Reflect.get(response, '_explicitStatus') === true
}
