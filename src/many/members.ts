declare module '../context.js' {
  interface ContextMembers extends ImportMembers {}
}

/** The member of a context that an import sets. */
export interface ImportMembers {
  /**
   * The number of the line for which an import calls the handler, as a spreadsheet counts them: the heading is 1. Undefined in
   * every other request.
   *
   * @example if (!ctx.importLine) await sendMail(ctx, welcome, { user })
   */
  readonly importLine?: number
}
