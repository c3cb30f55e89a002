/** Whether the status of a response has been set. Koa's default status is 404, so its private field shows it. */
export function hasStatus({ response }: { readonly response: object }): boolean {
  return Reflect.get(response, '_explicitStatus') === true
}
