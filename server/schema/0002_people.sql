-- Organizations and the people in them. These tables belong to the directory, which a request reads before its
-- organization is known; teams and audit events belong to the records of an organization. No foreign key connects the
-- two places (server/src/places.ts).

create table organizations (
  id uuid primary key,
  name text not null,
  slug text not null,
  time_zone text not null default 'UTC',
  default_currency text not null default 'EUR',
  requires_second_factor boolean not null default false,
  -- An organization that is being deleted refuses access until then; maintenance deletes it afterwards.
  deletes_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint organizations_slug_unique unique (slug)
);

create table users (
  id uuid primary key,
  name text not null,
  email text not null,
  -- Lower case, the domain in its ASCII form: what makes two spellings one address.
  email_key text not null,
  -- IANA name; null for the time zone of each organization.
  time_zone text,
  password_hash text,
  password_changed_at timestamptz(3),
  -- The kinds of second factor that the person has.
  second_factors text[] not null default '{}',
  -- When the person opened a link that was sent to the address, which proves that it is theirs.
  verified_at timestamptz(3),
  last_login_at timestamptz(3),
  -- Set by the command line: nobody can log in as this person since then.
  disabled_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint users_email_unique unique (email_key)
);

-- The earlier addresses of a person, so that former members are recognized by them.
create table former_addresses (
  user_id uuid not null references users (id) on delete cascade,
  email_key text not null,
  primary key (user_id, email_key)
);
create index former_addresses_email on former_addresses (email_key);

-- Roles that organizations define: what their members can do, and which records they see.
create table roles (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  name text not null,
  description text,
  scopes text[] not null default '{}',
  -- By singular noun: all, team or own. A resource that is absent is seen completely.
  reach jsonb not null default '{}',
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (organization_id, id)
);
create unique index roles_name_unique on roles (organization_id, fold(name)) where deleted_at is null;
create index roles_deleted on roles (deleted_at, id) where deleted_at is not null;

create table members (
  organization_id uuid not null references organizations (id) on delete cascade,
  user_id uuid not null references users (id) on delete cascade,
  -- The person's id again, under the name that the id of each record has.
  id uuid not null generated always as (user_id) stored,
  role text not null,
  role_id uuid,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (organization_id, user_id),
  constraint members_role_check check (role in ('owner', 'admin', 'member', 'viewer', 'custom')),
  constraint members_role_id_check check ((role = 'custom') = (role_id is not null)),
  -- A role that somebody has cannot be deleted, and so is never purged.
  constraint members_role_id_fkey foreign key (organization_id, role_id) references roles (organization_id, id)
);
create unique index members_id on members (organization_id, id);
create index members_created on members (organization_id, created_at, id);
create index members_user on members (user_id);
create index members_role on members (organization_id, role_id);

-- Members with their names and addresses. A view, so that nothing has to keep a copy of a name up to date.
create view member_people as
  select members.organization_id, members.user_id as id, users.name, users.email, null::timestamptz(3) as deleted_at,
    users.email_key
  from members join users on users.id = members.user_id;

-- A login at a provider does not add former members again; an invitation does.
create table former_members (
  organization_id uuid not null references organizations (id) on delete cascade,
  user_id uuid not null references users (id) on delete cascade,
  -- The person's last role: the API keys that they created see no more than it did.
  role_id uuid,
  left_at timestamptz(3) not null default now(),
  primary key (organization_id, user_id)
);
create index former_members_user on former_members (user_id);

create table teams (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  is_default boolean not null default false,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (organization_id, id),
  -- Records that name no team belong to the default one, so it cannot be deleted.
  constraint teams_default_stays check (not is_default or deleted_at is null)
);
create unique index teams_one_default on teams (organization_id) where is_default;
create unique index teams_name_unique on teams (organization_id, fold(name)) where deleted_at is null;
create index teams_deleted on teams (deleted_at, id) where deleted_at is not null;

create table team_members (
  organization_id uuid not null,
  -- The code checks the reference under a lock of the team, and removes what refers to a purged team.
  team_id uuid not null,
  -- The person's.
  id uuid not null,
  -- People do not see the records of a deleted team through it.
  team_deleted boolean not null default false,
  -- Always 1: lists of records have one.
  revision integer not null default 1 check (revision = 1),
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, team_id, id),
  foreign key (organization_id, id) references members (organization_id, user_id) on delete cascade
);
create index team_members_created on team_members (organization_id, team_id, created_at, id);
create index team_members_member on team_members (organization_id, id);

-- People who have been asked to join. Accepting an invitation deletes it.
create table invitations (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  email text not null,
  -- Lower case, the domain in its ASCII form: what makes two spellings one address.
  email_key text not null,
  role text not null,
  role_id uuid,
  -- Without a foreign key, as in `team_members`.
  team_id uuid,
  -- Without a foreign key: former members are still named.
  invited_by uuid,
  -- Sent by the operator: valid without a member who may send it, because the organization may have no owner who can.
  by_command boolean not null default false,
  -- Days for which it is valid each time it is sent.
  expires_in_days integer not null default 7 check (expires_in_days between 1 and 30),
  sent_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (organization_id, id),
  constraint invitations_role_check check (role in ('owner', 'admin', 'member', 'viewer', 'custom')),
  constraint invitations_role_id_check check ((role = 'custom') = (role_id is not null)),
  -- Only an invitation that has been withdrawn can be purged with its role.
  constraint invitations_role_id_fkey
    foreign key (organization_id, role_id) references roles (organization_id, id) on delete cascade
);
create unique index invitations_email_unique on invitations (organization_id, email_key) where deleted_at is null;
create index invitations_created on invitations (organization_id, created_at, id);
create index invitations_team on invitations (organization_id, team_id) where team_id is not null;
create index invitations_role on invitations (organization_id, role_id);
create index invitations_deleted on invitations (deleted_at, id) where deleted_at is not null;

-- The audit log: what was done in an organization that its owners may have to account for. Written in the transaction
-- of the action.
create table audit_events (
  organization_id uuid not null,
  id uuid not null,
  action text not null,
  actor_kind text not null check (actor_kind in ('user', 'key', 'command', 'anonymous')),
  -- Public ids, with their prefixes, because actors and records are of many kinds. An event outlives them.
  actor_id text,
  record_type text,
  record_id text,
  -- The IP address, and the id of the request in the log and the response.
  address text,
  request_id text,
  details jsonb not null default '{}',
  -- Always 1: lists of records have one.
  revision integer not null default 1 check (revision = 1),
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, id)
);
create index audit_events_created on audit_events (organization_id, created_at, id);
create index audit_events_action on audit_events (organization_id, action, created_at, id);
create index audit_events_actor on audit_events (organization_id, actor_id, created_at, id) where actor_id is not null;
create index audit_events_record on audit_events (organization_id, record_id, created_at, id)
  where record_id is not null;
-- Events of one transaction have the same time, so the index stays small.
create index audit_events_expiring on audit_events (created_at);

-- The triggers refuse what no code does, so that a mistake or a person with access to the database does not change the
-- log unnoticed. Citus has no triggers on distributed tables.
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'The audit log is append-only.' using errcode = 'integrity_constraint_violation';
end $$;
create trigger audit_events_not_updated before update on audit_events
  for each statement execute function refuse_audit_change();
create trigger audit_events_not_truncated before truncate on audit_events
  for each statement execute function refuse_audit_change();

-- Expired events, and those of an organization that is deleted, are deleted by maintenance, which says so.
create function refuse_audit_delete() returns trigger language plpgsql as $$
begin
  if coalesce(current_setting('rapport.deletes_audit_events', true), '') <> 'on'
    and exists (select from organizations where id = old.organization_id) then
    raise exception 'The audit log is append-only.' using errcode = 'integrity_constraint_violation';
  end if;
  return old;
end $$;
create trigger audit_events_not_deleted before delete on audit_events
  for each row execute function refuse_audit_delete();

-- Events of people that are on their way to the audit logs of their organizations: a login writes them with its
-- session, so that it changes nothing outside the directory.
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
