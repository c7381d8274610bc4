-- The history of records: one row for each change, written in its transaction. `changes` has the changed fields with
-- their values before and after; import rows have no foreign key, because they are purged earlier.
-- One index and no foreign key, because a history should cost little: maintenance deletes it with its record.

create table contact_changes (
  organization_id uuid not null,
  id uuid not null,
  contact_id uuid not null,
  action text not null check (action in ('created', 'updated', 'deleted', 'restored', 'blocked', 'unblocked')),
  source text not null check (source in ('person', 'api_key', 'import', 'command')),
  author_id uuid,
  changes jsonb not null,
  import_id uuid,
  import_row_id uuid,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, contact_id, created_at, id)
);

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
