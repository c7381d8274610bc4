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
