import type { DataSource } from 'typeorm'
import { engine } from './engine.js'

/**
 * Reads the schema from the server: a sentence for each part of a table, and for each index, trigger, view, sequence and type.
 * Their order does not matter.
 */
export async function schemaFacts(database: DataSource): Promise<string[]> {
  const facts = await readers[engine](database)
  return facts.map((fact) => fact.replaceAll(/\s+/g, ' ').trim()).toSorted()
}

type Rows = Record<string, string>[]

const readers: Record<typeof engine, (database: DataSource) => Promise<string[]>> = {
  async sqlite(database) {
    const rows: Rows = await database.query(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' AND name <> 'migrations'",
    )
    return rows.flatMap(({ type, name = '', sql = '' }) =>
      type === 'table' ? partsOf(sql).map((part) => `${name}: ${part}`) : [sql],
    )
  },

  async postgres(database) {
    const rows: Rows = await database.query(FACTS)
    return rows.map(({ fact = '' }) => fact)
  },

  async mariadb(database) {
    const facts: string[] = []
    const tables: Rows = await database.query('SHOW FULL TABLES')
    for (const table of tables) {
      const [name = '', type = ''] = Object.values(table)
      if (name === 'migrations') continue
      const [row = {}]: Rows = await database.query(
        `SHOW CREATE ${type === 'VIEW' ? 'VIEW' : 'TABLE'} \`${name}\``,
      )
      const [, sql = ''] = Object.values(row)
      const lines = sql.replace(/ AUTO_INCREMENT=\d+/, '').split('\n')
      facts.push(...lines.map((line) => `${name}: ${line.replace(/,$/, '')}`))
    }
    const triggers: Rows = await database.query('SHOW TRIGGERS')
    return [
      ...facts,
      ...triggers.map((row) =>
        ['Trigger', 'Event', 'Table', 'Statement', 'Timing'].map((key) => row[key]).join(' '),
      ),
    ]
  },
}

/** The columns and constraints of a CREATE TABLE, its name, and its end. */
function partsOf(sql: string): string[] {
  const parts = ['']
  let depth = 0
  for (const [token] of sql.matchAll(/--.*|"[^"]*"|\[[^\]]*\]|'(?:[^']|'')*'|[\s\S]/g)) {
    if (token.startsWith('--')) continue
    if (token === ')') depth -= 1
    const isEdge = (depth === 1 && token === ',') || (depth === 0 && '()'.includes(token))
    if (isEdge) parts.push('')
    else parts[parts.length - 1] += token
    if (token === '(') depth += 1
  }
  return parts.map((part) => part.replace(/^CREATE TABLE.*/, 'CREATE TABLE'))
}

const FACTS = `
  SELECT concat_ws(' ', 'column', c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
    a.attidentity::text || a.attgenerated::text, l.collname, pg_get_expr(d.adbin, d.adrelid)) AS fact
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  LEFT JOIN pg_collation l ON l.oid = a.attcollation
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
    AND c.relnamespace = 'public'::regnamespace AND c.relname <> 'migrations'
  UNION ALL
  SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
  WHERE connamespace = 'public'::regnamespace AND conrelid <> 0
    AND conrelid IS DISTINCT FROM to_regclass('migrations')
  UNION ALL
  SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'migrations'
  UNION ALL
  SELECT concat_ws(' ', 'view', viewname, definition) FROM pg_views WHERE schemaname = 'public'
  UNION ALL
  SELECT 'trigger ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL
  SELECT concat_ws(' ', 'type', typname,
    (SELECT string_agg(enumlabel, ',' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid))
  FROM pg_type t WHERE typtype = 'e'
  UNION ALL
  SELECT 'sequence ' || sequencename FROM pg_sequences WHERE sequencename <> 'migrations_id_seq'`
