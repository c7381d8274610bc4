-- Imports: leads that other systems push to a secret URL. Each push is a row, which is also its place in the queue.

create table imports (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  team_id uuid not null,
  tags text[] not null default '{}',
  merge_policy text not null default 'fill' check (merge_policy in ('fill', 'overwrite')),
  -- Whether notes that it pushes may opt out contacts.
  notes_may_opt_out boolean not null default true,
  disabled_at timestamptz(3),
  -- It accepts no pushes while its organization is being deleted.
  is_suspended boolean not null default false,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  search text not null generated always as (fold(name)) stored,
  primary key (organization_id, id),
  foreign key (organization_id, team_id) references teams (organization_id, id)
);
create index imports_created on imports (organization_id, created_at, id) where deleted_at is null;
create index imports_name on imports (organization_id, (sort_key(name) collate "C"), id) where deleted_at is null;
-- Deleting or purging a team looks for the imports that refer to it.
create index imports_team on imports (organization_id, team_id);
create index imports_search on imports using gin (search gin_trgm_ops) where deleted_at is null;
create index imports_deleted on imports (deleted_at, id) where deleted_at is not null;
create index imports_deleted_list on imports (organization_id, created_at, id) where deleted_at is not null;

-- The hashes of secret URLs are stored twice. The directory finds the organization of an import, and a push is checked
-- and stored with the records of the organization in one statement. A hash that expires is of the URL before a
-- rotation.

-- Looked up before the organization is known, so the id of the import leads.
create table import_triggers (
  import_id uuid not null,
  -- SHA-256 of the secret part of the URL, which has 256 random bits.
  hash bytea not null,
  organization_id uuid not null,
  expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (import_id, hash)
);
create index import_triggers_import on import_triggers (organization_id, import_id);
create index import_triggers_ending on import_triggers (expires_at) where expires_at is not null;

create table import_secrets (
  organization_id uuid not null,
  import_id uuid not null,
  hash bytea not null,
  expires_at timestamptz(3),
  primary key (organization_id, import_id, hash)
);
create index import_secrets_ending on import_secrets (expires_at) where expires_at is not null;

create table import_rows (
  organization_id uuid not null,
  id uuid not null,
  import_id uuid not null,
  -- What was pushed, with unknown members and the query parameters. json instead of jsonb, here and below, because it
  -- is shown as it was written.
  payload json not null,
  parameters jsonb not null default '{}',
  -- The address of the contact, so that a row can be found by it. The key sorts by code points, so that its index finds
  -- the beginning of an address.
  email text,
  email_key text collate "C",
  status text not null default 'PENDING',
  warnings json not null default '[]',
  errors json not null default '[]',
  warning_codes text[] not null default '{}',
  error_codes text[] not null default '{}',
  -- What the row created or changed, with the values before and after.
  changes json not null default '[]',
  contact_id uuid,
  company_id uuid,
  -- Attempts that ended in an internal error, and those that never ended, because their process did.
  attempts integer not null default 0,
  losses integer not null default 0,
  -- When a worker may take the row; the end of the lease once one has; null when it is finished.
  run_at timestamptz(3) default now(),
  -- The fencing token: a worker with another one must not finish the row.
  lease uuid,
  finished_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id),
  foreign key (organization_id, import_id) references imports (organization_id, id) on delete cascade,
  constraint import_rows_status check (status in (
    'PENDING', 'PROCESSING', 'RETRYING', 'PROCESSED', 'PARTIAL', 'DUPLICATE', 'INVALID', 'CONFLICT', 'DEAD', 'CANCELLED'))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02);
create index import_rows_created on import_rows (organization_id, import_id, created_at, id);
create index import_rows_status on import_rows (organization_id, import_id, status, created_at, id);
create index import_rows_errors on import_rows (organization_id, import_id, created_at, id) where error_codes <> '{}';
create index import_rows_email_key on import_rows (organization_id, import_id, email_key)
  where email_key is not null;
create index import_rows_contact on import_rows (organization_id, contact_id) where contact_id is not null;
-- The queue: the waiting rows of each organization, the next one first.
create index import_rows_queue on import_rows (organization_id, run_at, id)
  where status in ('PENDING', 'RETRYING', 'PROCESSING');
-- Without waiting rows, so that accepting a push writes nothing here.
create index import_rows_finished on import_rows (finished_at, id) where finished_at is not null;

-- The `object` of each row in responses.
create function import_row_object(uuid, uuid) returns text language sql immutable parallel safe return 'row';

-- The locks of the import workers: for each organization a row to claim rows, and a row to process them.
create table import_turns (
  organization_id uuid not null,
  turn text not null check (turn in ('claim', 'work')),
  primary key (organization_id, turn)
);

-- Idempotency-Keys of pushes, valid for 24 hours. The response is composed from the row, so none is stored.
create table import_push_keys (
  organization_id uuid not null,
  import_id uuid not null,
  key_hash bytea not null,
  request_hash bytea not null,
  row_id uuid not null,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, import_id, key_hash),
  foreign key (organization_id, import_id) references imports (organization_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
create index import_push_keys_created on import_push_keys (created_at);

-- How many rows each import has in each status: the sum of the changes. Rows are only appended, so that accepting and
-- processing never wait for each other here; maintenance sums up those older than two minutes.
create table import_row_counts (
  organization_id uuid not null,
  import_id uuid not null,
  status text not null,
  change bigint not null,
  counted_at timestamptz(3) not null default clock_timestamp(),
  foreign key (organization_id, import_id) references imports (organization_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
create index import_row_counts_import on import_row_counts (organization_id, import_id, counted_at);

-- The state of an import: `{"counts": {"PENDING": 3, …}, "rowsPerSecond": 12.5, "oldestPendingAt": "…"}`.
create function import_stats(of_organization uuid, of_import uuid) returns json language sql stable as $$
  with changes as (
    select status, sum(change) as total,
      coalesce(sum(change) filter (where change > 0 and counted_at > now() - interval '1 minute'), 0) as recent
    from import_row_counts where organization_id = of_organization and import_id = of_import group by status)
  select json_build_object(
    'counts', (
      select json_object_agg(known.status, coalesce(changes.total, 0) order by known.place)
      from unnest(array['PENDING', 'PROCESSING', 'RETRYING', 'PROCESSED', 'PARTIAL', 'DUPLICATE', 'INVALID', 'CONFLICT',
        'DEAD', 'CANCELLED']) with ordinality known (status, place) left join changes using (status)),
    -- Rows that were finished within the last minute.
    'rowsPerSecond', (
      select round(coalesce(sum(recent), 0) / 60.0, 2) from changes
      where status in ('PROCESSED', 'PARTIAL', 'DUPLICATE', 'INVALID', 'CONFLICT', 'DEAD')),
    'oldestPendingAt', (
      select to_char(min(oldest), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') from unnest(array['PENDING', 'RETRYING', 'PROCESSING']) waiting (status)
      cross join lateral (
        select created_at as oldest from import_rows
        where organization_id = of_organization and import_id = of_import and import_rows.status = waiting.status
        order by created_at, id limit 1) first))
$$;

-- The bytes that an import has received on a day (UTC). Each batch of pushes adds to one of a few slots, so that
-- batches of several processes rarely wait for each other.
create table import_pushed_bytes (
  organization_id uuid not null,
  import_id uuid not null,
  -- The beginning of the day.
  counted_on timestamptz(3) not null,
  slot smallint not null,
  bytes bigint not null,
  -- The limit of the service that counted last; null without one.
  max_bytes bigint,
  changed_at timestamptz(3) not null default now(),
  primary key (organization_id, import_id, counted_on, slot),
  foreign key (organization_id, import_id) references imports (organization_id, id) on delete cascade
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
create index import_pushed_bytes_expiring on import_pushed_bytes (counted_on);

-- Pushes that were answered with an error, so that no lead is lost with them.
create table refused_pushes (
  organization_id uuid not null,
  id uuid not null,
  import_id uuid not null,
  code text not null,
  message text not null,
  details json not null default '[]',
  email text,
  -- Sorted by code points, so that its index finds the beginning of an address.
  email_key text collate "C",
  sender text not null,
  address text not null,
  user_agent text,
  content_type text,
  body_bytes integer not null default 0,
  is_truncated boolean not null default false,
  -- The body, encrypted with a key derived from SECRET; null once that is lost.
  content_sealed bytea,
  row_id uuid,
  accepted_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id),
  foreign key (organization_id, import_id) references imports (organization_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
create index refused_pushes_import on refused_pushes (organization_id, import_id, created_at, id);
create index refused_pushes_email_key on refused_pushes (organization_id, import_id, email_key)
  where email_key is not null;
create index refused_pushes_expiring on refused_pushes (created_at, id);

-- How many pushes of an import were refused in each quarter of an hour, which is the smallest difference of time zones.
create table refused_push_counts (
  organization_id uuid not null,
  import_id uuid not null,
  code text not null,
  counted_at timestamptz(3) not null,
  count bigint not null,
  primary key (organization_id, import_id, counted_at, code),
  foreign key (organization_id, import_id) references imports (organization_id, id) on delete cascade
);
create index refused_push_counts_expiring on refused_push_counts (counted_at);

-- Senders whose last push was refused, with how many in a row. The empty sender stands for all of an import.
create table refused_senders (
  organization_id uuid not null,
  import_id uuid not null,
  sender text not null,
  refused integer not null,
  since timestamptz(3) not null,
  last_at timestamptz(3) not null,
  code text not null,
  message text not null,
  primary key (organization_id, import_id, sender),
  foreign key (organization_id, import_id) references imports (organization_id, id) on delete cascade
);
create index refused_senders_expiring on refused_senders (last_at);

-- What people, or programs on their behalf, have changed since a record was created: imports do not overwrite it.

create table contact_edits (
  organization_id uuid not null,
  contact_id uuid not null,
  field text not null,
  primary key (organization_id, contact_id, field),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade
);

create table company_edits (
  organization_id uuid not null,
  company_id uuid not null,
  field text not null,
  primary key (organization_id, company_id, field),
  foreign key (organization_id, company_id) references companies (organization_id, id) on delete cascade
);

-- Values that they have removed or replaced: imports do not add them again. Imports add to tags, external ids,
-- employments and notes, so the name of a changed field is not enough for these. SHA-256 of each value, because some
-- values are too long for an index.

create table contact_edited_values (
  organization_id uuid not null,
  contact_id uuid not null,
  field text not null,
  digest bytea not null,
  primary key (organization_id, contact_id, field, digest),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade
);
-- Imports also match a contact by an external id that a person removed from it, and a company by an earlier name.
create index contact_edited_external_ids on contact_edited_values (organization_id, digest) where field = 'externalIds';

create table company_edited_values (
  organization_id uuid not null,
  company_id uuid not null,
  field text not null,
  digest bytea not null,
  primary key (organization_id, company_id, field, digest),
  foreign key (organization_id, company_id) references companies (organization_id, id) on delete cascade
);
create index company_edited_names on company_edited_values (organization_id, digest) where field = 'name';
