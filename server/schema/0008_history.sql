-- The history of records, and the timelines that merge it with notes and tasks.

-- One row for each change of a record, written in its transaction. `changes` contains the changed fields with their
-- values before and after. Two indexes and no foreign key, because a history should cost little: maintenance deletes it
-- with its record, and rows of one transaction have the same time, so that the index of expired ones stays small.

create table contact_changes (
  organization_id uuid not null,
  id uuid not null,
  contact_id uuid not null,
  action text not null check (action in ('created', 'updated', 'deleted', 'restored', 'blocked', 'unblocked')),
  source text not null check (source in ('person', 'api_key', 'import', 'command', 'analysis')),
  author_id uuid,
  changes jsonb not null,
  import_id uuid,
  import_row_id uuid,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, contact_id, created_at, id)
);
create index contact_changes_expiring on contact_changes (created_at);

create table company_changes (
  organization_id uuid not null,
  id uuid not null,
  company_id uuid not null,
  action text not null check (action in ('created', 'updated', 'deleted', 'restored', 'blocked', 'unblocked')),
  source text not null check (source in ('person', 'api_key', 'import', 'command')),
  author_id uuid,
  changes jsonb not null,
  import_id uuid,
  import_row_id uuid,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, company_id, created_at, id)
);
create index company_changes_expiring on company_changes (created_at);

create table deal_changes (
  organization_id uuid not null,
  id uuid not null,
  deal_id uuid not null,
  action text not null check (action in ('created', 'updated', 'deleted', 'restored', 'blocked', 'unblocked')),
  source text not null check (source in ('person', 'api_key', 'import', 'command')),
  author_id uuid,
  changes jsonb not null,
  import_id uuid,
  import_row_id uuid,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, deal_id, created_at, id)
);
create index deal_changes_expiring on deal_changes (created_at);

-- The stages that a deal has left.
create table stage_moves (
  organization_id uuid not null,
  id uuid not null,
  deal_id uuid not null,
  from_stage_id uuid not null,
  from_stage_name text not null,
  to_stage_id uuid not null,
  to_stage_name text not null,
  seconds_in_stage integer not null,
  moved_by_id uuid,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, id),
  foreign key (organization_id, deal_id) references deals (organization_id, id) on delete cascade
);
create index stage_moves_deal on stage_moves (organization_id, deal_id, created_at, id);

-- The entries of timelines. Each kind is a view with the same columns and without conditions: a condition would hide
-- the table’s index in the order of time, which PostgreSQL merges with those of the other kinds.

create view note_entries as
select organization_id, id, 'note'::text as kind, contact_id, company_id, deal_id, author_id,
  jsonb_build_object('id', 'not_' || replace(id::text, '-', ''), 'body', body, 'source', source) as note,
  null::jsonb as task, null::jsonb as change, null::jsonb as stage_move, created_at, 1 as revision, deleted_at
from notes;

create view task_entries as
select organization_id, id, 'task'::text as kind, contact_id, company_id, deal_id, created_by_id as author_id,
  null::jsonb as note, jsonb_build_object(
    'id', 'tsk_' || replace(id::text, '-', ''), 'title', title, 'dueDate', to_char(due_date, 'YYYY-MM-DD'),
    'dueAt', to_char(due_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'assigneeId', 'usr_' || replace(assignee_id::text, '-', ''), 'priority', priority, 'done', done,
    'doneAt', to_char(done_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as task,
  null::jsonb as change, null::jsonb as stage_move, created_at, 1 as revision, deleted_at
from tasks;

create view contact_change_entries as
select organization_id, id, case source when 'import' then 'import' else 'change' end as kind,
  contact_id, null::uuid as company_id, null::uuid as deal_id, author_id,
  null::jsonb as note, null::jsonb as task,
  jsonb_build_object('action', action, 'source', source, 'changes', changes,
    'importId', 'imp_' || replace(import_id::text, '-', ''),
    'importRowId', 'row_' || replace(import_row_id::text, '-', '')) as change,
  null::jsonb as stage_move, created_at, 1 as revision, null::timestamptz as deleted_at
from contact_changes;

create view company_change_entries as
select organization_id, id, case source when 'import' then 'import' else 'change' end as kind,
  null::uuid as contact_id, company_id, null::uuid as deal_id, author_id,
  null::jsonb as note, null::jsonb as task,
  jsonb_build_object('action', action, 'source', source, 'changes', changes,
    'importId', 'imp_' || replace(import_id::text, '-', ''),
    'importRowId', 'row_' || replace(import_row_id::text, '-', '')) as change,
  null::jsonb as stage_move, created_at, 1 as revision, null::timestamptz as deleted_at
from company_changes;

create view deal_change_entries as
select organization_id, id, case source when 'import' then 'import' else 'change' end as kind,
  null::uuid as contact_id, null::uuid as company_id, deal_id, author_id,
  null::jsonb as note, null::jsonb as task,
  jsonb_build_object('action', action, 'source', source, 'changes', changes,
    'importId', 'imp_' || replace(import_id::text, '-', ''),
    'importRowId', 'row_' || replace(import_row_id::text, '-', '')) as change,
  null::jsonb as stage_move, created_at, 1 as revision, null::timestamptz as deleted_at
from deal_changes;

create view stage_move_entries as
select organization_id, id, 'stage_move'::text as kind, null::uuid as contact_id, null::uuid as company_id, deal_id,
  moved_by_id as author_id, null::jsonb as note, null::jsonb as task, null::jsonb as change,
  jsonb_build_object(
    'id', 'mov_' || replace(id::text, '-', ''),
    'fromStageId', 'stg_' || replace(from_stage_id::text, '-', ''), 'fromStageName', from_stage_name,
    'toStageId', 'stg_' || replace(to_stage_id::text, '-', ''), 'toStageName', to_stage_name,
    'secondsInStage', seconds_in_stage) as stage_move,
  created_at, 1 as revision, null::timestamptz as deleted_at
from stage_moves;

create view contact_timeline_entries as
select organization_id, id, kind, contact_id, company_id, deal_id, author_id, note, task, change, stage_move,
  created_at, revision
from (
  select * from note_entries union all select * from task_entries union all select * from contact_change_entries) entry
where deleted_at is null;

create view deal_timeline_entries as
select organization_id, id, kind, contact_id, company_id, deal_id, author_id, note, task, change, stage_move,
  created_at, revision
from (
  select * from note_entries union all select * from task_entries
  union all select * from deal_change_entries union all select * from stage_move_entries) entry
where deleted_at is null;

-- The entries of a company, with those of its contacts and deals.
create view company_timeline_entries as
select company_id as timeline_company_id, organization_id, id, kind, contact_id, company_id, deal_id, author_id, note,
  task, change, stage_move, created_at, revision
from (
  select * from note_entries union all select * from task_entries union all select * from company_change_entries) entry
where company_id is not null and deleted_at is null
union all
select contact.company_id, entry.* from contacts contact
join contact_timeline_entries entry on entry.organization_id = contact.organization_id and entry.contact_id = contact.id
where contact.deleted_at is null
union all
select deal.company_id, entry.* from deals deal
join deal_timeline_entries entry on entry.organization_id = deal.organization_id and entry.deal_id = deal.id
where deal.deleted_at is null;
