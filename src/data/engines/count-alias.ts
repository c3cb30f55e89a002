/** The alias of the counts of `paginate`. An engine may cache their results, but not those of any other query. */
export const COUNT_ALIAS = 'counted_records'
