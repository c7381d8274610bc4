import { expect, test } from 'vitest'
import { readMigrations } from '../src/platform/database/migrate.ts'
import { migrationsFolder } from '../src/release.ts'
import { contractionsIn } from './migration-inspection.ts'

/** Migrations before this one belong to earlier releases. */
const first = 150

const deletedWithOrganizations = 'Organizations are never deleted, so the key has never refused or deleted anything.'
const checkedInCode =
  'The previous release checks the reference before it writes, as the code does; the key only guarded the rare race.'
const companyKey =
  'Replaced by a key that is not validated yet. Requests of the previous release do not purge companies; its maintenance repeats what fails.'

/** What migrations do to processes of the previous release, and why it fails no request. Every entry is needed. */
const accepted: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '0151_counts_in_code.sql': {
    'replaces function count_import_rows': 'It still counts for processes that do not say that they count themselves.',
  },
  '0152_import_triggers_place.sql': {
    'drops constraint import_triggers_organization_id_import_id_fkey': checkedInCode,
  },
  '0160_places_of_people.sql': {
    'drops constraint team_members_organization_id_team_id_fkey': checkedInCode,
    'drops constraint invitations_organization_id_team_id_fkey': checkedInCode,
    'drops constraint teams_organization_id_fkey': deletedWithOrganizations,
    'drops constraint audit_events_organization_id_fkey': deletedWithOrganizations,
    'changes rows of team_members in one transaction': 'Few teams are deleted, and few people are in them.',
  },
  '0170_records_without_organizations_key.sql': Object.fromEntries(
    [
      'companies',
      'contacts',
      'root_contacts',
      'employments',
      'campaigns',
      'imports',
      'notes',
      'idempotency_answers',
    ].map((table) => [`drops constraint ${table}_organization_id_fkey`, deletedWithOrganizations]),
  ),
  '0180_company_references.sql': {
    'drops constraint contacts_organization_id_company_id_fkey': companyKey,
    'may refuse rows of contacts: constraint contacts_organization_id_company_id_fkey': companyKey,
    'drops constraint deals_organization_id_company_id_fkey': companyKey,
    'may refuse rows of deals: constraint deals_organization_id_company_id_fkey': companyKey,
  },
  '0190_import_secrets.sql': {
    'copies import_triggers before a trigger on it, or a lock in share mode': 'What it missed, 0240 copies.',
  },
  '0220_run_in_organization.sql': {
    'is not known to be harmless: GrantStmt': 'It concerns a new function, which the previous release does not call.',
  },
  '0240_lost_import_secrets.sql': {
    'changes rows of import_secrets in one transaction': 'Only what 0190 missed is changed.',
  },
  '0250_folding_of_marks.sql': {
    'replaces function fold':
      'Searches of the previous release use it for both sides; maintenance renews what is stored.',
  },
  '0251_sort_by_new_folding.sql': {
    'is not known to be harmless: ReindexStmt': 'Concurrently, it blocks no request.',
  },
  '0345_organization_deletions.sql': {
    'replaces function refuse_audit_delete':
      'It still refuses to delete for processes that do not say why they delete.',
  },
}

test('processes of the previous release can go on with the schema of every migration', async () => {
  const migrations = (await readMigrations(migrationsFolder)).filter(({ version }) => version >= first)
  expect(migrations.length).toBeGreaterThan(6)
  const found = migrations.map(({ file, text }) => [file, contractionsIn(text).sort()] as const)
  const expected = migrations.map(({ file }) => [file, Object.keys(accepted[file] ?? {}).sort()] as const)
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
