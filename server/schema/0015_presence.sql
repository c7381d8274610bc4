-- Who has which records open.

-- A row for each browser, or program of a person, that has said where it is. Unlogged: after a crash of the database,
-- browsers say it again within seconds.
create unlogged table presences (
  organization_id uuid not null,
  session_id uuid not null,
  -- Chosen by the client: several applications can share a session.
  tab text not null,
  user_id uuid not null,
  -- Objects with `resource`, the singular noun, `id` and `isEditing`.
  places jsonb not null,
  seen_at timestamptz not null default now(),
  primary key (organization_id, session_id, tab)
) with (fillfactor = 50);
create index presences_seen on presences (seen_at);
