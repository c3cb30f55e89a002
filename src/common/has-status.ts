/** Whether the status of a response has been set. Koa's default is 404, so only its private field distinguishes the two. */
export function hasStatus({ response }: { readonly response: object }): boolean {
  return Reflect.get(response, '_explicitStatus') === true
}
