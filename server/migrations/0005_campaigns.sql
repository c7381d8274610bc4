create table campaigns (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  name text not null,
  subject text,
  description text,
  status text not null default 'draft',
  status_reason text,
  kind text not null default 'broadcast',
  purpose text not null default 'marketing',
  owner_id uuid,
  tags text[] not null default '{}',
  audience jsonb,
  schedule jsonb,
  stats jsonb,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  -- What `query` and `contains` look into, folded; lines keep the fields apart.
  search text not null generated always as (fold(name || E'\n' || coalesce(subject, ''))) stored,
  primary key (organization_id, id),
  foreign key (organization_id, owner_id) references members (organization_id, user_id) on delete set null (owner_id)
);

create index campaigns_created on campaigns (organization_id, created_at, id) where deleted_at is null;
create index campaigns_updated on campaigns (organization_id, updated_at, id) where deleted_at is null;
create index campaigns_name on campaigns (organization_id, (sort_key(name) collate "C"), id) where deleted_at is null;
create index campaigns_search on campaigns using gin (search gin_trgm_ops) where deleted_at is null;
create index campaigns_tags on campaigns using gin (tags) where deleted_at is null;
