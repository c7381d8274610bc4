-- The feed of changes, and the histories that timelines show.

-- One row for each change of a record, written in its transaction. Maintenance deletes it with its record or when it
-- expires. `changes` has what people have set, for timelines: each field with its values before and after. `values` has
-- the record after its creation or restoration, or the changed fields with their new values, for readers of the feed.
create table events (
  organization_id uuid not null,
  id uuid not null,
  resource text not null,
  record_id uuid not null,
  kind text not null,
  -- Stored as long as a history, otherwise as long as the feed.
  is_history boolean not null,
  -- That of the record after the change; null if the change does not count as one.
  revision integer,
  source text not null check (source in ('person', 'api_key', 'import', 'command', 'analysis')),
  author_id uuid,
  key_id uuid,
  import_id uuid,
  import_row_id uuid,
  changes jsonb not null,
  -- Set for an update of nothing that people set: timelines leave it out.
  hidden_at timestamptz(3),
  "values" json,
  -- Two changes of which one follows the other have these times in their order, unlike those of their transactions.
  written_at timestamptz not null default clock_timestamp(),
  -- The place in the feed, given after the commit; 0 for a change that is not part of it.
  "position" bigint,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, record_id, created_at, id)
);
create unique index events_position on events (organization_id, "position") where "position" > 0;
create index events_without_position on events (organization_id, written_at, id) where "position" is null;
create index events_expiring on events (created_at) where not is_history;
create index events_expiring_history on events (created_at) where is_history;

-- The last position of each organization. After a restore, the feed has another `epoch`: its readers start again.
create table event_feeds (
  organization_id uuid primary key,
  epoch text not null,
  last_position bigint not null default 0
);

-- Release 0.1.0 stored changes in three tables, which its processes still write during an upgrade. Without conditions:
-- those would hide the order of each table's index.
create view record_changes as
select organization_id, record_id, id, kind, source, author_id, import_id, import_row_id, changes, created_at, hidden_at
from events
union all
select organization_id, contact_id, id, action, source, author_id, import_id, import_row_id, changes, created_at,
  null::timestamptz
from contact_changes
union all
select organization_id, company_id, id, action, source, author_id, import_id, import_row_id, changes, created_at,
  null::timestamptz
from company_changes
union all
select organization_id, deal_id, id, action, source, author_id, import_id, import_row_id, changes, created_at,
  null::timestamptz
from deal_changes;

-- The entries that are changes, with the columns of the other kinds.
create view change_entries as
select organization_id, id, case source when 'import' then 'import' else 'change' end as kind,
  record_id, author_id, null::jsonb as note, null::jsonb as task,
  jsonb_build_object('action', case kind when 'moved' then 'updated' else kind end, 'source', source, 'changes', changes,
    'importId', 'imp_' || replace(import_id::text, '-', ''),
    'importRowId', 'row_' || replace(import_row_id::text, '-', '')) as change,
  null::jsonb as stage_move, created_at, 1 as revision, hidden_at as deleted_at
from record_changes;

create view contact_timeline as
select organization_id, id, kind, contact_id, company_id, deal_id, author_id, note, task, change, stage_move,
  created_at, revision
from (
  select * from note_entries union all select * from task_entries union all
  select organization_id, id, kind, record_id, null::uuid, null::uuid, author_id, note, task, change, stage_move,
    created_at, revision, deleted_at
  from change_entries) entry
where deleted_at is null;

create view deal_timeline as
select organization_id, id, kind, contact_id, company_id, deal_id, author_id, note, task, change, stage_move,
  created_at, revision
from (
  select * from note_entries union all select * from task_entries union all
  select organization_id, id, kind, null::uuid, null::uuid, record_id, author_id, note, task, change, stage_move,
    created_at, revision, deleted_at
  from change_entries
  union all select * from stage_move_entries) entry
where deleted_at is null;

-- The entries of a company, with those of its contacts and deals.
create view company_timeline as
select company_id as timeline_company_id, organization_id, id, kind, contact_id, company_id, deal_id, author_id, note,
  task, change, stage_move, created_at, revision
from (
  select * from note_entries union all select * from task_entries union all
  select organization_id, id, kind, null::uuid, record_id, null::uuid, author_id, note, task, change, stage_move,
    created_at, revision, deleted_at
  from change_entries) entry
where company_id is not null and deleted_at is null
union all
select contact.company_id, entry.* from contacts contact
join contact_timeline entry on entry.organization_id = contact.organization_id and entry.contact_id = contact.id
where contact.deleted_at is null
union all
select deal.company_id, entry.* from deals deal
join deal_timeline entry on entry.organization_id = deal.organization_id and entry.deal_id = deal.id
where deal.deleted_at is null;
