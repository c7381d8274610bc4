-- The bytes that an import has received on a day (UTC). Each batch of pushes adds to one of a few slots, so that batches
-- of several processes rarely wait for each other.
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
