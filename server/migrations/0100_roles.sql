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

-- A role that somebody has cannot be deleted, and so is never purged.
alter table members add column role_id uuid,
  drop constraint members_role_check,
  add constraint members_role_check check (role in ('owner', 'admin', 'member', 'viewer', 'custom')) not valid,
  add constraint members_role_id_check check ((role = 'custom') = (role_id is not null)) not valid,
  add constraint members_role_id_fkey
    foreign key (organization_id, role_id) references roles (organization_id, id) not valid;
alter table members validate constraint members_role_check;
alter table members validate constraint members_role_id_check;
alter table members validate constraint members_role_id_fkey;

-- Only an invitation that has been withdrawn can be purged with its role.
alter table invitations add column role_id uuid,
  drop constraint invitations_role_check,
  add constraint invitations_role_check check (role in ('owner', 'admin', 'member', 'viewer', 'custom')) not valid,
  add constraint invitations_role_id_check check ((role = 'custom') = (role_id is not null)) not valid,
  add constraint invitations_role_id_fkey
    foreign key (organization_id, role_id) references roles (organization_id, id) on delete cascade not valid;
alter table invitations validate constraint invitations_role_check;
alter table invitations validate constraint invitations_role_id_check;
alter table invitations validate constraint invitations_role_id_fkey;

-- The last role of a person who has left: the API keys that they created see no more than it did.
alter table former_members add column role_id uuid;
