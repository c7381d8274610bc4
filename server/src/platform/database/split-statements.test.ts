import { loadModule, parseSync } from 'libpg-query'
import { beforeAll, expect, test } from 'vitest'
import { migrationsFolder } from '../../release.ts'
import { readMigrations } from './migrate.ts'
import { splitStatements } from './split-statements.ts'

beforeAll(() => loadModule())

const parsed = (text: string) => (parseSync(text) as { stmts?: unknown[] }).stmts?.length ?? 0

test('each part of every migration is one statement, and nothing is lost', async () => {
  for (const { file, text } of await readMigrations(migrationsFolder)) {
    const statements = splitStatements(text)
    expect([file, statements.length]).toEqual([file, parsed(text)])
    for (const statement of statements) {
      expect([statement.text, parsed(statement.text)]).toEqual([statement.text, 1])
      expect(text.slice(statement.offset, statement.offset + statement.text.length)).toBe(statement.text)
    }
  }
})

test('semicolons in texts, names, comments and bodies of functions do not end a statement', () => {
  const text = `-- one; two
select 'it''s; $$', "a;b" /* ; */;
create function f() returns text language sql as $body$ select ';'; select '$$' $body$;
do $$ begin null; end $$
-- the end;
`
  expect(splitStatements(text).map((statement) => statement.text.trim().split('\n').at(-1))).toEqual([
    `select 'it''s; $$', "a;b" /* ; */;`,
    `create function f() returns text language sql as $body$ select ';'; select '$$' $body$;`,
    '-- the end;',
  ])
})
