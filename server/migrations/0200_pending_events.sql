-- Events of people that are on their way to the audit logs of their organizations: a login writes them with its session,
-- so that it changes nothing outside the directory.
create table pending_events (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  action text not null,
  actor_kind text not null check (actor_kind in ('user', 'key', 'command', 'anonymous')),
  actor_id text,
  record_type text,
  record_id text,
  address text,
  request_id text,
  details jsonb not null default '{}',
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, id)
);
