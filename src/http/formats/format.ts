/** Writes values and errors in a format of responses. Each one needs a file, an entry of `dataFormats`. */
export interface Format {
  /** The media types by which a client requests the format. Responses have the first one. */
  mediaTypes: readonly string[]
  /** The media type of problems. It also requests the format if it ends with its key in `dataFormats`. */
  problemType: string
  /**
   * Writes a value.
   *
   * @param plain the value as plain objects
   * @param name returns the name of the value, for a format whose documents have one
   */
  write(plain: unknown, name: () => string): string
  writeProblem(problem: ProblemDetails): string
}

/** The details of an error (RFC 9457). */
export interface ProblemDetails {
  /** The kind of problem, if the status is not specific enough: `urn:resource-kit:stale-record`. */
  type?: string
  status: number
  title: string
  detail?: string
  request_id: string
  /** The messages by field, if a record is not valid. */
  errors?: Record<string, string[]>
  /** The broken rules by field, in the order of the messages. */
  codes?: Record<string, string[]>
  /** The errors of the lines of an import. */
  lines?: readonly ({ line: number } & RecordProblem)[]
  /** The errors of the records of a bulk action. */
  records?: readonly ({ id: string } & RecordProblem)[]
}

/** The errors of one of many records. */
export type RecordProblem = Required<Pick<ProblemDetails, 'errors' | 'codes'>>
