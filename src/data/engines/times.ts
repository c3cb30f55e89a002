import type { DataSource } from 'typeorm'

type Driver = DataSource['driver']

/**
 * Makes an engine store moments in UTC and with milliseconds. By default PostgreSQL drops the time zone of a date, so
 * that what one server writes another one reads as a different moment, and MySQL drops parts of a second.
 */
export function keepTimesInUtc(driver: Driver): void {
  const types = driver.mappedDataTypes
  switch (driver.options.type) {
    case 'postgres': {
      const normalizeType = driver.normalizeType.bind(driver)
      driver.normalizeType = (column) =>
        column.type === Date ? 'timestamp with time zone' : normalizeType(column)
      Object.assign(types, {
        createDate: 'timestamptz',
        updateDate: 'timestamptz',
        deleteDate: 'timestamptz',
      })
      Object.assign(types, { createDatePrecision: 3, updateDatePrecision: 3, deleteDatePrecision: 3 })
      break
    }
    case 'mysql':
    case 'mariadb': {
      const now = 'CURRENT_TIMESTAMP(3)'
      Object.assign(types, { createDateDefault: now, updateDateDefault: now })
      Object.assign(types, { createDatePrecision: 3, updateDatePrecision: 3, deleteDatePrecision: 3 })
      break
    }
    default:
      break
  }
}
