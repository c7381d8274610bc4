-- Imports: leads that other systems push at a secret URL. The row of a push is its place in the queue too.

create table imports (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  name text not null,
  team_id uuid not null,
  tags text[] not null default '{}',
  merge_policy text not null default 'fill' check (merge_policy in ('fill', 'overwrite')),
  disabled_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  -- What `query` and `contains` look into, folded.
  search text not null generated always as (fold(name)) stored,
  primary key (organization_id, id),
  foreign key (organization_id, team_id) references teams (organization_id, id)
);
create index imports_created on imports (organization_id, created_at, id) where deleted_at is null;
create index imports_name on imports (organization_id, (sort_key(name) collate "C"), id) where deleted_at is null;
-- Without the organization on purpose (docs/decisions/0005-gin-without-organization.md).
create index imports_search on imports using gin (search gin_trgm_ops) where deleted_at is null;

-- Looked up before the organization is known, so the import's id leads. One that expires is the URL before a rotation.
create table import_triggers (
  import_id uuid not null,
  -- SHA-256 of the URL's secret part, which has 256 random bits: a slow hash would add nothing.
  hash bytea not null,
  organization_id uuid not null,
  expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (import_id, hash),
  foreign key (organization_id, import_id) references imports (organization_id, id) on delete cascade
);
create index import_triggers_import on import_triggers (organization_id, import_id);

create table import_rows (
  organization_id uuid not null,
  id uuid not null,
  import_id uuid not null,
  status text not null default 'PENDING',
  -- What was pushed, unknown members included, and the query parameters beside it. json and not jsonb, here and below:
  -- it is shown as it was written.
  payload json not null,
  parameters jsonb not null default '{}',
  warnings json not null default '[]',
  errors json not null default '[]',
  -- What the row made or changed, with the values before and after.
  changes json not null default '[]',
  warning_codes text[] not null default '{}',
  error_codes text[] not null default '{}',
  contact_id uuid,
  company_id uuid,
  -- Attempts that ended in an error of ours; and those that never ended, because their process did.
  attempts integer not null default 0,
  losses integer not null default 0,
  -- When a worker may take the row; for a row that one has, when its lease ends; null once it has come to an end.
  run_at timestamptz(3) default now(),
  -- The fencing token: only who holds it may end the row.
  lease uuid,
  finished_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, id),
  foreign key (organization_id, import_id) references imports (organization_id, id) on delete cascade,
  constraint import_rows_status check (status in (
    'PENDING', 'PROCESSING', 'RETRYING', 'PROCESSED', 'PARTIAL', 'DUPLICATE', 'INVALID', 'CONFLICT', 'DEAD',
    'CANCELLED', 'REVERTED'))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
        autovacuum_analyze_scale_factor = 0.02);
create index import_rows_created on import_rows (organization_id, import_id, created_at, id);
create index import_rows_status on import_rows (organization_id, import_id, status, created_at, id);
create index import_rows_errors on import_rows (organization_id, import_id, created_at, id) where error_codes <> '{}';
create index import_rows_contact on import_rows (organization_id, contact_id) where contact_id is not null;
-- The queue: of each organization the rows that wait, the next one first.
create index import_rows_queue on import_rows (organization_id, run_at, id)
  where status in ('PENDING', 'RETRYING', 'PROCESSING');

-- The `object` of every row in the answers (interface, "Import row").
create function import_row_object(uuid, uuid) returns text language sql immutable parallel safe return 'row';

-- Idempotency-Keys of pushes, good for 24 hours: the answer can be told from the row, so none is kept.
create table import_push_keys (
  organization_id uuid not null,
  import_id uuid not null,
  key_hash bytea not null,
  request_hash bytea not null,
  row_id uuid not null,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, import_id, key_hash),
  foreign key (organization_id, import_id) references imports (organization_id, id) on delete cascade
);
create index import_push_keys_created on import_push_keys (created_at);

-- How many rows each import has in each state: the sum of the changes. Appended to and never updated, so that accepting
-- and working never wait for each other here; the upkeep sums up what is older than two minutes.
create table import_row_counts (
  organization_id uuid not null,
  import_id uuid not null,
  status text not null,
  change bigint not null,
  counted_at timestamptz(3) not null default clock_timestamp(),
  foreign key (organization_id, import_id) references imports (organization_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
create index import_row_counts_import on import_row_counts (organization_id, import_id, counted_at);

-- Whatever statement changes rows, the counts follow in its own transaction.
create function count_import_rows() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into import_row_counts (organization_id, import_id, status, change)
    select organization_id, import_id, status, count(*) from after_rows group by 1, 2, 3;
  elsif tg_op = 'DELETE' then
    insert into import_row_counts (organization_id, import_id, status, change)
    select organization_id, import_id, status, -count(*) from before_rows
    -- Not of an import that is being deleted with its rows.
    where exists (select from imports where (imports.organization_id, imports.id) = (before_rows.organization_id, import_id))
    group by 1, 2, 3;
  else
    insert into import_row_counts (organization_id, import_id, status, change)
    select organization_id, import_id, status, sum(change) from (
      select organization_id, import_id, status, 1 as change from after_rows
      union all
      select organization_id, import_id, status, -1 from before_rows) changes
    group by 1, 2, 3 having sum(change) <> 0;
  end if;
  return null;
end $$;
create trigger import_rows_inserted after insert on import_rows
  referencing new table as after_rows for each statement execute function count_import_rows();
create trigger import_rows_updated after update on import_rows
  referencing old table as before_rows new table as after_rows for each statement execute function count_import_rows();
create trigger import_rows_deleted after delete on import_rows
  referencing old table as before_rows for each statement execute function count_import_rows();

-- How an import is doing: `{"counts": {"PENDING": 3, …}, "rowsPerSecond": 12.5, "oldestPendingAt": "…"}`.
create function import_stats(of_organization uuid, of_import uuid) returns json language sql stable as $$
  with changes as (
    select status, sum(change) as total,
      coalesce(sum(change) filter (where change > 0 and counted_at > now() - interval '1 minute'), 0) as recent
    from import_row_counts where organization_id = of_organization and import_id = of_import group by status)
  select json_build_object(
    'counts', (
      select json_object_agg(known.status, coalesce(changes.total, 0) order by known.place)
      from unnest(array['PENDING', 'PROCESSING', 'RETRYING', 'PROCESSED', 'PARTIAL', 'DUPLICATE', 'INVALID', 'CONFLICT',
        'DEAD', 'CANCELLED', 'REVERTED']) with ordinality known (status, place) left join changes using (status)),
    -- Rows that came to an end within the last minute.
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

-- Fields that a person, or a program in their name, has changed since the record was made: no import overwrites them.
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

-- Companies are matched by their exact name when nothing better is known.
create index companies_exact_name on companies (organization_id, name) where deleted_at is null;

-- Contacts are matched by a handle when nothing better is known of them. Few have one, and only those are in the index.
create index contacts_linkedin on contacts (organization_id, fold(linkedin_handle))
  where deleted_at is null and linkedin_handle is not null;
create index contacts_github on contacts (organization_id, fold(github_handle))
  where deleted_at is null and github_handle is not null;
create index contacts_twitter on contacts (organization_id, fold(twitter_handle))
  where deleted_at is null and twitter_handle is not null;
create index contacts_instagram on contacts (organization_id, fold(instagram_handle))
  where deleted_at is null and instagram_handle is not null;
create index contacts_facebook on contacts (organization_id, fold(facebook_handle))
  where deleted_at is null and facebook_handle is not null;

-- An import looks at the jobs that were deleted too: they do not come back.
create index employments_of_contact on employments (organization_id, contact_id);
