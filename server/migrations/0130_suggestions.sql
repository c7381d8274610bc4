-- What the service finds in notes, and the actions that it suggests.

-- A note that a process is analysing, or has tried to. The queue itself is `notes.reasoning_queued_at`: with the lease in
-- the note, each claim would write to all indexes of the notes.
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
  intent text not null,
  engine text not null check (engine in ('rules', 'model')),
  type text not null,
  params jsonb not null,
  due_at timestamptz(3),
  priority text not null check (priority in ('low', 'normal', 'high')),
  confidence double precision not null check (confidence between 0 and 1),
  evidence jsonb not null,
  status text not null default 'pending'
    check (status in ('pending', 'accepted', 'rejected', 'expired', 'superseded', 'auto_applied')),
  decided_by_id uuid,
  decided_at timestamptz(3),
  edits jsonb,
  rejection_reason text,
  -- What accepting it created or changed. No foreign keys: that may be purged earlier.
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

-- The service itself changes contacts too: it opts out those who ask for it in a note.
alter table contact_changes
  drop constraint contact_changes_source_check,
  -- The next migration validates it, without the lock of this one.
  add constraint contact_changes_source_check check (source in ('person', 'api_key', 'import', 'command', 'analysis'))
    not valid;
