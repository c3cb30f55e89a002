import { engine } from './engine.js'

/** A statement that fails with a message that contains the value, if the engine has one. */
export function failingStatement(value: string): string {
  if (engine === 'mariadb') return `SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '${value}'`
  if (engine === 'postgres') return `DO $$ BEGIN RAISE EXCEPTION '${value}'; END $$`
  return `INSERT INTO posts (id, title) VALUES ('${value}', '${value}', 1)`
}
