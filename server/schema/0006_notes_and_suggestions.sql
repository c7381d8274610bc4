-- Notes on contacts, companies and deals, what the service finds in them, and the actions that it suggests.

create table notes (
  organization_id uuid not null,
  id uuid not null,
  contact_id uuid,
  company_id uuid,
  deal_id uuid,
  body text not null,
  source text not null default 'manual' check (source in ('manual', 'import')),
  author_id uuid,
  -- Without a foreign key: rows of imports are purged earlier than what they created.
  import_row_id uuid,
  -- The queue of the analysis: set with the text, and null once it has been read.
  reasoning_queued_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  search text not null generated always as (fold(body)) stored,
  primary key (organization_id, id),
  constraint notes_one_parent check (num_nonnulls(contact_id, company_id, deal_id) = 1),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade,
  constraint notes_company_id_fkey
    foreign key (organization_id, company_id) references companies (organization_id, id) on delete cascade,
  constraint notes_deal_id_fkey
    foreign key (organization_id, deal_id) references deals (organization_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
-- Deleted notes too: they are purged with their contact, and an import does not add them again.
create index notes_contact on notes (organization_id, contact_id, created_at, id);
create index notes_company on notes (organization_id, company_id, created_at, id) where company_id is not null;
create index notes_deal on notes (organization_id, deal_id, created_at, id) where deal_id is not null;
create index notes_created on notes (organization_id, created_at, id) where deleted_at is null;
create index notes_author on notes (organization_id, author_id, created_at, id) where author_id is not null;
create index notes_search on notes using gin (search gin_trgm_ops) with (gin_pending_list_limit = 256)
  where deleted_at is null;
create index notes_reasoning on notes (organization_id, reasoning_queued_at, id)
  where reasoning_queued_at is not null and deleted_at is null;
create index notes_deleted on notes (deleted_at, id) where deleted_at is not null;
create index notes_deleted_list on notes (organization_id, created_at, id) where deleted_at is not null;
create index notes_deleted_of_contact on notes (organization_id, contact_id, created_at, id)
  where deleted_at is not null;
create index notes_deleted_of_company on notes (organization_id, company_id, created_at, id)
  where deleted_at is not null;
create index notes_deleted_of_deal on notes (organization_id, deal_id, created_at, id) where deleted_at is not null;

-- A note that a process is analysing, or has tried to. The queue itself is `notes.reasoning_queued_at`: with the lease
-- in the note, each claim would write to all indexes of the notes.
create table note_leases (
  organization_id uuid not null,
  note_id uuid not null,
  -- The fencing token: a process with another one must not store its result.
  lease uuid not null,
  expires_at timestamptz(3) not null,
  attempts integer not null default 1,
  primary key (organization_id, note_id),
  foreign key (organization_id, note_id) references notes (organization_id, id) on delete cascade
);

-- The tokens that an organization has used at a model on a day (UTC), for its daily budget.
create table reasoning_tokens (
  organization_id uuid primary key,
  day date not null,
  tokens bigint not null
);

create table note_analyses (
  organization_id uuid not null,
  id uuid not null,
  note_id uuid not null,
  contact_id uuid,
  company_id uuid,
  deal_id uuid,
  intent text not null,
  language text not null,
  summary text,
  suspicious boolean not null,
  engine text not null check (engine in ('rules', 'model')),
  model text,
  prompt_version text not null,
  input_hash text not null,
  latency_ms integer not null,
  tokens integer not null,
  degraded boolean not null,
  degraded_reason text,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, id),
  check (num_nonnulls(contact_id, company_id, deal_id) = 1),
  foreign key (organization_id, note_id) references notes (organization_id, id) on delete cascade,
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade,
  foreign key (organization_id, company_id) references companies (organization_id, id) on delete cascade,
  foreign key (organization_id, deal_id) references deals (organization_id, id) on delete cascade
);
create index note_analyses_created on note_analyses (organization_id, created_at, id);
create index note_analyses_note on note_analyses (organization_id, note_id, created_at, id);
create index note_analyses_contact on note_analyses (organization_id, contact_id, created_at, id)
  where contact_id is not null;
create index note_analyses_company on note_analyses (organization_id, company_id, created_at, id)
  where company_id is not null;
create index note_analyses_deal on note_analyses (organization_id, deal_id, created_at, id) where deal_id is not null;

create table suggestions (
  organization_id uuid not null,
  id uuid not null,
  note_id uuid not null,
  contact_id uuid,
  company_id uuid,
  deal_id uuid,
  analysis_id uuid not null,
  -- The import that pushed the note, if one did. Without a foreign key, because a suggestion is stored longer.
  import_id uuid,
  intent text not null,
  engine text not null check (engine in ('rules', 'model')),
  type text not null,
  params jsonb not null,
  due_at timestamptz(3),
  -- Whether the due date is in the note, or a default. Null without a due date.
  due_at_source text,
  priority text not null check (priority in ('low', 'normal', 'high')),
  confidence double precision not null check (confidence between 0 and 1),
  evidence jsonb not null,
  status text not null default 'pending'
    check (status in ('pending', 'accepted', 'rejected', 'expired', 'superseded', 'auto_applied')),
  -- Why an action that could have taken effect by itself waits for a person.
  waiting_reason text,
  decided_by_id uuid,
  decided_at timestamptz(3),
  edits jsonb,
  rejection_reason text,
  -- What accepting it created or changed, which may be purged earlier.
  result_task_id uuid,
  result_deal_id uuid,
  result_contact_id uuid,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id),
  check (num_nonnulls(contact_id, company_id, deal_id) = 1),
  foreign key (organization_id, note_id) references notes (organization_id, id) on delete cascade,
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade,
  foreign key (organization_id, company_id) references companies (organization_id, id) on delete cascade,
  foreign key (organization_id, deal_id) references deals (organization_id, id) on delete cascade,
  foreign key (organization_id, analysis_id) references note_analyses (organization_id, id) on delete cascade
);
create index suggestions_created on suggestions (organization_id, created_at, id);
create index suggestions_note on suggestions (organization_id, note_id, created_at, id);
create index suggestions_contact on suggestions (organization_id, contact_id, created_at, id)
  where contact_id is not null;
create index suggestions_company on suggestions (organization_id, company_id, created_at, id)
  where company_id is not null;
create index suggestions_deal on suggestions (organization_id, deal_id, created_at, id) where deal_id is not null;
create index suggestions_analysis on suggestions (organization_id, analysis_id);
create index suggestions_status on suggestions (organization_id, status, created_at, id);
create index suggestions_import on suggestions (organization_id, import_id, created_at, id)
  where import_id is not null;
-- The alarm of an import.
create index suggestions_held_back on suggestions (organization_id, import_id, created_at)
  where waiting_reason = 'many_opt_outs' and status = 'pending';
