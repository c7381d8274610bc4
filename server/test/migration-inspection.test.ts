import { expect, test } from 'vitest'
import { readMigrations } from '../src/platform/database/migrate.ts'
import { migrationsFolder } from '../src/release.ts'
import { contractionsIn } from './migration-inspection.ts'

/** The last file of the schema of release 0.1.0. Each later one is inspected. */
const lastOfFirstRelease = 9

/** What migrations do to processes of the previous release, and why it fails no request. Every entry is needed. */
const accepted: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '0019_contact_addresses.sql': {
    'replaces function contact_document':
      'It renders two properties more. The previous release passes them on, and leaves stored renderings of the new version alone.',
  },
  '0014_push.sql': {
    'drops constraint mails_kind_check': 'The next statement adds it again, with one kind more.',
    'may refuse rows of mails: constraint mails_kind_check':
      'It accepts every kind that the previous release knows, as that of 0011 does.',
  },
  '0012_inbox.sql': {
    'drops constraint mails_kind_check': 'The next statement adds it again, with one kind more.',
    'may refuse rows of mails: constraint mails_kind_check':
      'It accepts every kind that earlier releases know. A process of 0.1.0 that takes a reminder fails to compose it, and it is tried again later.',
  },
  '0011_webhooks.sql': {
    'drops constraint mails_kind_check': 'The next statement adds it again, with one kind more.',
    'may refuse rows of mails: constraint mails_kind_check':
      'It accepts every kind that the previous release knows. A process of that release which takes a mail of the new kind fails to compose it, and the mail is tried again later.',
  },
  '0023_addresses.sql': {
    'replaces function contact_document':
      'Processes of the previous release show the new fields as well, and store the text as their version, which is rendered again.',
    'replaces function company_document': 'The same.',
  },
  '0013_reminders.sql': {
    'changes rows of tasks in one transaction':
      'Only open tasks that are not overdue yet. A request that changes one of them waits for this statement.',
  },
}

test('processes of the previous release can go on with the schema of every migration', async () => {
  const all = await readMigrations(migrationsFolder)
  expect(all.length).toBeGreaterThanOrEqual(lastOfFirstRelease)
  const later = all.filter(({ version }) => version > lastOfFirstRelease)
  const found = later.map(({ file, text }) => [file, contractionsIn(text).sort()] as const)
  const expected = later.map(({ file }) => [file, Object.keys(accepted[file] ?? {}).sort()] as const)
  // If this fails, expand now and remove in a later release (CONTRIBUTING.md), or add the reason why no request fails.
  expect(found).toEqual(expected)
})

test.each([
  ['drop table notes', 'drops notes'],
  ['drop view if exists public.contact_timeline_entries', 'drops public.contact_timeline_entries'],
  ['drop function fold(text)', 'drops fold'],
  ['drop type mood', 'drops mood'],
  ['drop index notes_author', 'drops notes_author'],
  ['drop trigger users_keep on users', 'drops users.users_keep'],
  ['alter table notes rename to remarks', 'renames notes  to remarks'],
  ['alter table notes rename column body to text', 'renames notes body to text'],
  ['alter table notes drop column body', 'changes notes: AT_DropColumn body'],
  ['alter table notes alter column body type varchar(10)', 'changes notes: AT_AlterColumnType body'],
  ['alter table notes alter column body set not null', 'changes notes: AT_SetNotNull body'],
  ['alter table notes alter column body drop default', 'changes notes: AT_ColumnDefault body'],
  ['alter table notes add column kind text not null', 'may refuse rows of notes: kind is required and has no default'],
  [
    'alter table notes add column kind text check (length(kind) < 10)',
    'adds kind to notes with CONSTR_CHECK, not in a statement of its own',
  ],
  ['alter table notes add check (length(body) < 10)', 'may refuse rows of notes: constraint CONSTR_CHECK'],
  ['alter table notes add constraint one unique (body)', 'may refuse rows of notes: constraint one'],
  ['alter table notes drop constraint notes_check', 'drops constraint notes_check'],
  ['create unique index concurrently one on notes (body)', 'may refuse rows of notes: unique index one'],
  ['create index one on notes (body)', 'blocks writes of notes while it builds one'],
  ['create or replace function fold(text) returns text language sql return $1', 'replaces function fold'],
  ['create or replace view shown as select 1 as one', 'replaces view shown'],
  [`update notes set body = ''`, 'changes rows of notes in one transaction'],
  ['do $$ begin execute 1; end $$', 'is not known to be harmless: DoStmt'],
  ['truncate notes', 'is not known to be harmless: TruncateStmt'],
  ['lock table notes', 'locks notes against readers'],
  ['insert into other select id from notes', 'copies notes before a trigger on it, or a lock in share mode'],
  ['vacuum full notes', 'is not known to be harmless: VacuumStmt'],
])('%s is reported', (text, contraction) => {
  expect(contractionsIn(`create table other (id uuid);\n${text};`)).toEqual([contraction])
})

test.each([
  'create table tags (id uuid primary key); create unique index one on tags (id); insert into tags values (null); drop table tags',
  'create table tags (id uuid); alter table tags add constraint one unique (id), alter column id set not null',
  'alter table notes add column kind text, add column count integer not null default 0',
  'alter table notes alter column body drop not null, alter column kind set default 1, validate constraint one',
  '-- rapport: no transaction\ndrop index concurrently if exists one;\ncreate index concurrently one on notes (body);',
  'create function one() returns trigger language plpgsql as $$ begin return new; end $$; create trigger one after insert on notes execute function one(); create table ids (id uuid); insert into ids select id from notes',
  'lock table notes in share mode; create table ids (id uuid); insert into ids select id from notes',
])('%s is not reported', (text) => {
  expect(contractionsIn(text)).toEqual([])
})
