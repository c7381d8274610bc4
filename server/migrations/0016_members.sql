-- Members as records, the teams they are in, and who is invited.

alter table members
  -- The person's id again, under the name that every record's own has.
  add column id uuid not null generated always as (user_id) stored,
  add column revision integer not null default 1;
create unique index members_id on members (organization_id, id);
create index members_created on members (organization_id, created_at, id);

-- What a member is shown with. A view, so that nobody has to keep a second copy of a name true.
create view member_people as
  select members.organization_id, members.user_id as id, users.name, users.email, null::timestamptz(3) as deleted_at
  from members join users on users.id = members.user_id;

-- A person who leaves stays the owner and the author of what was theirs: it says whom to ask, and whose contacts have to be
-- given to others. Clearing the field in a hundred thousand contacts would make leaving take minutes.
alter table contacts drop constraint contacts_organization_id_owner_id_fkey;
alter table campaigns drop constraint campaigns_organization_id_owner_id_fkey;
alter table notes drop constraint notes_organization_id_author_id_fkey;

create table team_members (
  organization_id uuid not null,
  team_id uuid not null,
  -- The person's.
  id uuid not null,
  -- Always 1: what a list of records needs to have.
  revision integer not null default 1 check (revision = 1),
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, team_id, id),
  foreign key (organization_id, team_id) references teams (organization_id, id) on delete cascade,
  foreign key (organization_id, id) references members (organization_id, user_id) on delete cascade
);
create index team_members_created on team_members (organization_id, team_id, created_at, id);
create index team_members_member on team_members (organization_id, id);

-- Everyone is in the default team, however they became a member.
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

-- Those who were members and are not. Logging in at a provider does not bring them back; an invitation does.
create table former_members (
  organization_id uuid not null references organizations (id) on delete cascade,
  user_id uuid not null references users (id) on delete cascade,
  left_at timestamptz(3) not null default now(),
  primary key (organization_id, user_id)
);
create index former_members_user on former_members (user_id);

-- The addresses that an account had before, so that who has left is known by them as well.
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

-- Those who were asked to join and have not: an invitation that is accepted is deleted.
create table invitations (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  email text not null,
  -- Lower case, the domain in its ASCII form: what makes two spellings one address.
  email_key text not null,
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  team_id uuid,
  -- No foreign key: whoever has left is still named.
  invited_by uuid,
  -- Days that it is good for each time it is sent.
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
