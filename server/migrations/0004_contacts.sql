-- The person behind contacts: one for each distinct address of an organization.
create table root_contacts (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  email_key text,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, id)
);
create unique index root_contacts_email_unique on root_contacts (organization_id, email_key);

create table contacts (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  email text,
  -- Lower case, the domain in its ASCII form: what makes two addresses one.
  email_key text,
  first_name text,
  last_name text,
  phone text,
  last_activity_at timestamptz(3),
  tags text[] not null default '{}',
  status text not null default 'active',
  email_opt_out boolean not null default false,
  company_id uuid,
  custom_properties jsonb not null default '{}',
  name text,
  nickname text,
  bio text,
  avatar text,
  website text,
  location text,
  time_zone text,
  city text,
  state text,
  country_code text,
  latitude double precision,
  longitude double precision,
  employment_title text,
  employment_seniority text,
  facebook_handle text,
  github_handle text,
  instagram_handle text,
  linkedin_handle text,
  twitter_handle text,
  external_ids jsonb not null default '{}',
  root_contact_id uuid not null,
  team_id uuid not null,
  owner_id uuid,
  blocked_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  -- What `query` and `contains` look into, folded; lines keep the fields apart.
  search text not null generated always as (
    fold(
      coalesce(name, '') || E'\n' || coalesce(first_name, '') || E'\n' || coalesce(last_name, '') || E'\n' ||
      coalesce(nickname, '') || E'\n' || coalesce(email, '') || E'\n' || coalesce(phone, '') || E'\n' ||
      coalesce(employment_title, '') || E'\n' || tag_lines(tags)
    )
  ) stored,
  primary key (organization_id, id),
  -- Pairs, not the id alone: a contact can never point at another organization's record.
  foreign key (organization_id, company_id) references companies (organization_id, id) on delete set null (company_id),
  foreign key (organization_id, root_contact_id) references root_contacts (organization_id, id),
  foreign key (organization_id, team_id) references teams (organization_id, id),
  foreign key (organization_id, owner_id) references members (organization_id, user_id) on delete set null (owner_id)
);

-- The address before the team, so that one index finds an address in all teams too.
create unique index contacts_email_unique on contacts (organization_id, email_key, team_id) where deleted_at is null;
create index contacts_created on contacts (organization_id, created_at, id) where deleted_at is null;
create index contacts_updated on contacts (organization_id, updated_at, id) where deleted_at is null;
create index contacts_activity on contacts (organization_id, last_activity_at, id) where deleted_at is null;
create index contacts_name on contacts (organization_id, (sort_key(name) collate "C"), id) where deleted_at is null;
create index contacts_last_name on contacts (organization_id, (sort_key(last_name) collate "C"), id)
  where deleted_at is null;
create index contacts_email on contacts (organization_id, (sort_key(email) collate "C"), id) where deleted_at is null;
create index contacts_company on contacts (organization_id, company_id);
create index contacts_root on contacts (organization_id, root_contact_id);
create index contacts_team on contacts (organization_id, team_id, created_at, id) where deleted_at is null;
-- Without the organization on purpose: at a million records that is 2 to 16 times faster (docs/decisions).
create index contacts_search on contacts using gin (search gin_trgm_ops) where deleted_at is null;
create index contacts_tags on contacts using gin (tags) where deleted_at is null;
create index contacts_properties on contacts using gin (custom_properties jsonb_path_ops) where deleted_at is null;
create index contacts_external on contacts using gin (external_ids jsonb_path_ops) where deleted_at is null;

-- Makes external ids unique and findable; kept by the contacts' write, and only for those not deleted.
create table contact_external_ids (
  organization_id uuid not null,
  team_id uuid not null,
  provider text not null,
  value text not null,
  contact_id uuid not null,
  primary key (organization_id, team_id, provider, value),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade
);
create index contact_external_ids_contact on contact_external_ids (organization_id, contact_id);

create table employments (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  contact_id uuid not null,
  organization text not null,
  title text,
  "current" boolean not null default false,
  -- Months, YYYY-MM: they compare as text.
  "start" text,
  "end" text,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (organization_id, id),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade
);
create index employments_contact on employments (organization_id, contact_id, created_at, id) where deleted_at is null;
