-- Members as records, their teams, and invitations.

alter table members
  -- The person's id, in a column with the name that every resource requires.
  add column id uuid not null generated always as (user_id) stored,
  add column revision integer not null default 1;
create unique index members_id on members (organization_id, id);
create index members_created on members (organization_id, created_at, id);

-- The name and address of each member. A view, so that there is only one copy of them.
create view member_people as
  select members.organization_id, members.user_id as id, users.name, users.email, null::timestamptz(3) as deleted_at
  from members join users on users.id = members.user_id;

-- A person who leaves remains the owner and author of their records, so that others know whom to ask and which contacts
-- to reassign. Clearing the field in a hundred thousand contacts would take minutes.
alter table contacts drop constraint contacts_organization_id_owner_id_fkey;
alter table campaigns drop constraint campaigns_organization_id_owner_id_fkey;
alter table notes drop constraint notes_organization_id_author_id_fkey;

create table team_members (
  organization_id uuid not null,
  team_id uuid not null,
  -- The person's id.
  id uuid not null,
  -- Always 1; lists require this column.
  revision integer not null default 1 check (revision = 1),
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, team_id, id),
  foreign key (organization_id, team_id) references teams (organization_id, id) on delete cascade,
  foreign key (organization_id, id) references members (organization_id, user_id) on delete cascade
);
create index team_members_created on team_members (organization_id, team_id, created_at, id);
create index team_members_member on team_members (organization_id, id);

-- Every member is in the default team, no matter how they became a member.
create function join_default_team() returns trigger language plpgsql as $$
begin
  insert into team_members (organization_id, team_id, id)
  select new.organization_id, id, new.user_id from teams where organization_id = new.organization_id and is_default;
  return null;
end $$;
create trigger members_join_default_team after insert on members for each row execute function join_default_team();
insert into team_members (organization_id, team_id, id)
  select members.organization_id, teams.id, members.user_id
  from members join teams on teams.organization_id = members.organization_id and teams.is_default;

-- Former members. A login at a provider does not add them again; an invitation does.
create table former_members (
  organization_id uuid not null references organizations (id) on delete cascade,
  user_id uuid not null references users (id) on delete cascade,
  left_at timestamptz(3) not null default now(),
  primary key (organization_id, user_id)
);
create index former_members_user on former_members (user_id);

-- Former addresses of accounts, by which former members are also recognized.
create table former_addresses (
  user_id uuid not null references users (id) on delete cascade,
  email_key text not null,
  primary key (user_id, email_key)
);
create index former_addresses_email on former_addresses (email_key);
create function keep_former_address() returns trigger language plpgsql as $$
begin
  insert into former_addresses (user_id, email_key) values (old.id, old.email_key) on conflict do nothing;
  return null;
end $$;
create trigger users_keep_former_address after update of email_key on users
  for each row when (old.email_key <> new.email_key) execute function keep_former_address();

-- Open invitations. An invitation is deleted when it is accepted.
create table invitations (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  email text not null,
  -- Lower case, with the domain in ASCII form: equal keys mean the same address.
  email_key text not null,
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  team_id uuid,
  -- No foreign key: the value remains after the person has left.
  invited_by uuid,
  -- Number of days that the invitation is valid after it is sent or resent.
  expires_in_days integer not null default 7 check (expires_in_days between 1 and 30),
  sent_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (organization_id, id),
  foreign key (organization_id, team_id) references teams (organization_id, id) on delete set null (team_id)
);
create unique index invitations_email_unique on invitations (organization_id, email_key) where deleted_at is null;
create index invitations_created on invitations (organization_id, created_at, id);
create index invitations_team on invitations (organization_id, team_id) where team_id is not null;
create index invitations_deleted on invitations (deleted_at, id) where deleted_at is not null;
