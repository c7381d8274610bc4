-- The audit log: what was done in an organization that its owners may have to account for. Written in the transaction of
-- what it tells, and never changed afterwards.

create table audit_events (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  action text not null,
  actor_kind text not null check (actor_kind in ('user', 'key', 'command', 'anonymous')),
  -- As callers see it, with its prefix: actors and records are of many kinds. No foreign keys, here and below: the event
  -- outlives what it is about.
  actor_id text,
  record_type text,
  record_id text,
  -- Where it came from: an IP address, and the request's id that the log and the answer have too.
  address text,
  request_id text,
  details jsonb not null default '{}',
  -- Always 1: what a list of records needs to have.
  revision integer not null default 1 check (revision = 1),
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, id)
);
create index audit_events_created on audit_events (organization_id, created_at, id);
create index audit_events_action on audit_events (organization_id, action, created_at, id);
create index audit_events_actor on audit_events (organization_id, actor_id, created_at, id) where actor_id is not null;
create index audit_events_record on audit_events (organization_id, record_id, created_at, id) where record_id is not null;

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'The audit log is append-only.' using errcode = 'integrity_constraint_violation';
end $$;
create trigger audit_events_not_updated before update on audit_events
  for each statement execute function refuse_audit_change();
create trigger audit_events_not_truncated before truncate on audit_events
  for each statement execute function refuse_audit_change();

-- An organization that goes takes its log along: by then it is not there any more. Nothing else takes an event away.
create function refuse_audit_delete() returns trigger language plpgsql as $$
begin
  if exists (select from organizations where id = old.organization_id) then
    raise exception 'The audit log is append-only.' using errcode = 'integrity_constraint_violation';
  end if;
  return old;
end $$;
create trigger audit_events_not_deleted before delete on audit_events
  for each row execute function refuse_audit_delete();
