/** The field of errors that belong to the whole record, or to a column that the database does not name. */
export const RECORD = 'base'
