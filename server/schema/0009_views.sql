-- Saved views of lists.

create table views (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  resource text not null,
  filter jsonb not null default '{}',
  query text,
  columns text[] not null default '{}',
  -- In pixels, by name.
  column_widths jsonb not null default '{}',
  -- How many of the first columns stay in sight.
  pinned_columns integer not null default 0,
  order_by text,
  sort text check (sort in ('asc', 'desc')),
  layout text not null default 'table' check (layout in ('table', 'board')),
  group_by text,
  is_shared boolean not null default false,
  "position" numeric not null,
  owner_id uuid not null,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (organization_id, id)
);
create index views_created on views (organization_id, created_at, id) where deleted_at is null;
create index views_resource on views (organization_id, resource) where deleted_at is null;
create index views_owner on views (organization_id, owner_id) where deleted_at is null;
create index views_deleted on views (deleted_at, id) where deleted_at is not null;
create index views_deleted_list on views (organization_id, created_at, id) where deleted_at is not null;
