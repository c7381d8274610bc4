create table companies (
  organization_id uuid not null references organizations (id) on delete cascade,
  id uuid not null,
  name text not null,
  nickname text,
  bio text,
  subtitle text,
  avatar text,
  website text,
  domain text,
  -- The registrable part of the domain: what makes two companies one.
  domain_key text,
  location text,
  time_zone text,
  facebook_handle text,
  github_handle text,
  instagram_handle text,
  linkedin_handle text,
  twitter_handle text,
  annual_revenue numeric,
  employees_count integer,
  founded_year integer,
  funding_stage text,
  funding_total numeric,
  retail_locations_count integer,
  ticker text,
  industries text[] not null default '{}',
  languages text[] not null default '{}',
  stack text[] not null default '{}',
  tags text[] not null default '{}',
  external_ids jsonb not null default '{}',
  custom_properties jsonb not null default '{}',
  last_activity_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  -- What `query` and `contains` look into, folded; lines keep the fields apart.
  search text not null generated always as (
    fold(name || E'\n' || coalesce(nickname, '') || E'\n' || coalesce(domain, '') || E'\n' || coalesce(subtitle, ''))
  ) stored,
  primary key (organization_id, id)
);

create unique index companies_domain_unique on companies (organization_id, domain_key) where deleted_at is null;
create index companies_domain on companies (organization_id, domain) where deleted_at is null;
create index companies_created on companies (organization_id, created_at, id) where deleted_at is null;
create index companies_updated on companies (organization_id, updated_at, id) where deleted_at is null;
create index companies_name on companies (organization_id, (sort_key(name) collate "C"), id) where deleted_at is null;
-- Without the organization on purpose: at a million records that is 2 to 16 times faster (docs/decisions).
create index companies_search on companies using gin (search gin_trgm_ops) where deleted_at is null;
create index companies_tags on companies using gin (tags) where deleted_at is null;
create index companies_properties on companies using gin (custom_properties jsonb_path_ops) where deleted_at is null;
create index companies_external on companies using gin (external_ids jsonb_path_ops) where deleted_at is null;

-- Makes external ids unique and findable; kept by the companies' write, and only for those not deleted.
create table company_external_ids (
  organization_id uuid not null,
  provider text not null,
  value text not null,
  company_id uuid not null,
  primary key (organization_id, provider, value),
  foreign key (organization_id, company_id) references companies (organization_id, id) on delete cascade
);
create index company_external_ids_company on company_external_ids (organization_id, company_id);
