-- Companies, contacts, deals, tasks and campaigns.
--
-- The keys start with the organization, and foreign keys are pairs: a record can never refer to one of another
-- organization. People belong to another place (server/src/places.ts), so no foreign key refers to organizations,
-- members or roles. A person who leaves stays the owner of their records, so that others know who to ask.
--
-- `search` is what `query` and `contains` look into, folded; lines keep the fields apart.
--
-- Indexes on (deleted_at, id) are for maintenance, which purges deleted records, and those on `created_at` of deleted
-- records for lists of them. They contain only deleted records, so that creating and changing others costs nothing
-- more.
--
-- GIN indexes do not contain the organization: at a million records, that is 2 to 16 times faster
-- (docs/decisions/0005-gin-without-organization.md). They store what was written last in a list that each search reads
-- completely. With a list of 256 kB instead of 4 MB, an insert costs the same, and a search less than half (measured at
-- 100,000 contacts).
--
-- Autovacuum visits the tables that change all the time earlier than others, and so has less to do each time.

create table companies (
  organization_id uuid not null,
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
  owner_id uuid,
  -- Includes the activity on its contacts.
  last_activity_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  search text not null generated always as (
    fold(name || E'\n' || coalesce(nickname, '') || E'\n' || coalesce(domain, '') || E'\n' || coalesce(subtitle, ''))
  ) stored,
  primary key (organization_id, id)
) with (autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
create unique index companies_domain_unique on companies (organization_id, domain_key) where deleted_at is null;
create index companies_domain on companies (organization_id, domain) where deleted_at is null;
create index companies_created on companies (organization_id, created_at, id) where deleted_at is null;
create index companies_updated on companies (organization_id, updated_at, id) where deleted_at is null;
create index companies_last_activity on companies (organization_id, last_activity_at, id) where deleted_at is null;
create index companies_name on companies (organization_id, (sort_key(name) collate "C"), id) where deleted_at is null;
-- Imports match companies by their exact name if nothing better is known.
create index companies_exact_name on companies (organization_id, name) where deleted_at is null;
-- The records of an owner in the default order: the first page of a person who sees only their own.
create index companies_owner on companies (organization_id, owner_id, created_at, id)
  where owner_id is not null and deleted_at is null;
create index companies_search on companies using gin (search gin_trgm_ops) with (gin_pending_list_limit = 256)
  where deleted_at is null;
create index companies_tags on companies using gin (tags) with (gin_pending_list_limit = 256) where deleted_at is null;
create index companies_external on companies using gin (external_ids jsonb_path_ops)
  with (gin_pending_list_limit = 256) where deleted_at is null;
create index companies_properties on companies using gin (custom_properties jsonb_path_ops)
  with (gin_pending_list_limit = 256) where deleted_at is null;
create index companies_deleted on companies (deleted_at, id) where deleted_at is not null;
create index companies_deleted_list on companies (organization_id, created_at, id) where deleted_at is not null;

-- Makes external ids unique and findable. Contains only those of records that are not deleted.
create table company_external_ids (
  organization_id uuid not null,
  provider text not null,
  value text not null,
  company_id uuid not null,
  primary key (organization_id, provider, value),
  foreign key (organization_id, company_id) references companies (organization_id, id) on delete cascade
);
create index company_external_ids_company on company_external_ids (organization_id, company_id);

-- The people behind contacts: one for each distinct address of an organization.
create table root_contacts (
  organization_id uuid not null,
  id uuid not null,
  email_key text,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, id)
) with (autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
create unique index root_contacts_email_unique on root_contacts (organization_id, email_key);

-- People that contacts have left, by a new address or a purge: maintenance deletes those that no contact refers to.
-- Rows are only appended, so that changes of contacts never wait for each other here, and may name people who are gone.
create table root_contacts_left (
  organization_id uuid not null,
  id uuid not null,
  left_at timestamptz(3) not null default now()
) with (autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
create index root_contacts_left_at on root_contacts_left (left_at, id);
create index root_contacts_left_id on root_contacts_left (organization_id, id);

create table contacts (
  organization_id uuid not null,
  id uuid not null,
  email text,
  -- Lower case, the domain in its ASCII form: what makes two spellings one address.
  email_key text,
  name text,
  first_name text,
  last_name text,
  nickname text,
  phone text,
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
  status text not null default 'active',
  email_opt_out boolean not null default false,
  blocked_at timestamptz(3),
  tags text[] not null default '{}',
  external_ids jsonb not null default '{}',
  custom_properties jsonb not null default '{}',
  root_contact_id uuid not null,
  company_id uuid,
  team_id uuid not null,
  owner_id uuid,
  -- Where the contact comes from. It names its import longer than deleted imports are stored.
  source text,
  import_id uuid,
  last_activity_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  search text not null generated always as (
    fold(
      coalesce(name, '') || E'\n' || coalesce(first_name, '') || E'\n' || coalesce(last_name, '') || E'\n' ||
      coalesce(nickname, '') || E'\n' || coalesce(email, '') || E'\n' || coalesce(phone, '') || E'\n' ||
      coalesce(employment_title, '') || E'\n' || tag_lines(tags)
    )
  ) stored,
  primary key (organization_id, id),
  -- Maintenance releases the contacts of a company before it purges it: Citus has no `on delete set null (column)`.
  foreign key (organization_id, company_id) references companies (organization_id, id),
  foreign key (organization_id, root_contact_id) references root_contacts (organization_id, id),
  foreign key (organization_id, team_id) references teams (organization_id, id)
) with (autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
-- The address before the team, so that one index also finds an address in all teams.
create unique index contacts_email_unique on contacts (organization_id, email_key, team_id) where deleted_at is null;
-- Also contains the short fields that have no other index: counts and statistics by them read no table, in a quarter of
-- the time. A separate index would be read completely for an organization that is newer than the last statistics. The
-- longest values of these fields fit into an index entry (2704 bytes).
create index contacts_created on contacts (organization_id, created_at, id)
  include (status, email_opt_out, country_code, time_zone, employment_seniority, city, state, source, import_id)
  where deleted_at is null;
create index contacts_updated on contacts (organization_id, updated_at, id) where deleted_at is null;
create index contacts_activity on contacts (organization_id, last_activity_at, id) where deleted_at is null;
create index contacts_name on contacts (organization_id, (sort_key(name) collate "C"), id) where deleted_at is null;
create index contacts_last_name on contacts (organization_id, (sort_key(last_name) collate "C"), id)
  where deleted_at is null;
create index contacts_email on contacts (organization_id, (sort_key(email) collate "C"), id) where deleted_at is null;
create index contacts_company on contacts (organization_id, company_id);
create index contacts_root on contacts (organization_id, root_contact_id);
create index contacts_team on contacts (organization_id, team_id, created_at, id) where deleted_at is null;
-- Purging a team looks for its contacts, deleted ones too. Without the organization, or searches would read all of it
-- besides what they found (100 ms at a million).
create index contacts_of_team on contacts (team_id);
create index contacts_owner on contacts (organization_id, owner_id, created_at, id)
  where owner_id is not null and deleted_at is null;
create index contacts_import on contacts (organization_id, import_id, created_at, id)
  where deleted_at is null and import_id is not null;
-- Imports match contacts by a handle if nothing better is known.
create index contacts_linkedin on contacts (organization_id, fold(linkedin_handle))
  where deleted_at is null and linkedin_handle is not null;
create index contacts_github on contacts (organization_id, fold(github_handle))
  where deleted_at is null and github_handle is not null;
create index contacts_twitter on contacts (organization_id, fold(twitter_handle))
  where deleted_at is null and twitter_handle is not null;
create index contacts_instagram on contacts (organization_id, fold(instagram_handle))
  where deleted_at is null and instagram_handle is not null;
create index contacts_facebook on contacts (organization_id, fold(facebook_handle))
  where deleted_at is null and facebook_handle is not null;
create index contacts_search on contacts using gin (search gin_trgm_ops) with (gin_pending_list_limit = 256)
  where deleted_at is null;
create index contacts_tags on contacts using gin (tags) with (gin_pending_list_limit = 256) where deleted_at is null;
create index contacts_external on contacts using gin (external_ids jsonb_path_ops)
  with (gin_pending_list_limit = 256) where deleted_at is null;
create index contacts_properties on contacts using gin (custom_properties jsonb_path_ops)
  with (gin_pending_list_limit = 256) where deleted_at is null;
create index contacts_deleted on contacts (deleted_at, id) where deleted_at is not null;
create index contacts_deleted_list on contacts (organization_id, created_at, id) where deleted_at is not null;

create table contact_external_ids (
  organization_id uuid not null,
  team_id uuid not null,
  provider text not null,
  value text not null,
  contact_id uuid not null,
  primary key (organization_id, team_id, provider, value),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
create index contact_external_ids_contact on contact_external_ids (organization_id, contact_id);

-- The jobs of contacts.
create table employments (
  organization_id uuid not null,
  id uuid not null,
  contact_id uuid not null,
  organization text not null,
  title text,
  "current" boolean not null default false,
  -- Months, as YYYY-MM, which sort as text.
  "start" text,
  "end" text,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (organization_id, id),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
-- Deleted ones too: they are purged with their contact, and an import does not add them again.
create index employments_contact on employments (organization_id, contact_id, created_at, id);
create index employments_deleted on employments (deleted_at, id) where deleted_at is not null;
create index employments_deleted_list on employments (organization_id, contact_id, created_at, id)
  where deleted_at is not null;

-- Renderings: contacts and companies are read more often than written, and most of a read would be composing the same
-- JSON again. They have tables of their own, because they make up two thirds of the data that every scan would read
-- (docs/decisions/0010-rendered-contacts.md).
--
-- A rendering is valid while its version is that of the declaration, and its `source_xmin` and `source_ctid` are those
-- of the record. Any other write of the record makes it invalid, and the record is then rendered when it is read. So no
-- foreign key is needed.

create table contact_renderings (
  organization_id uuid not null,
  contact_id uuid not null,
  version integer not null,
  source_xmin xid not null,
  source_ctid tid not null,
  document text not null,
  primary key (organization_id, contact_id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
-- No query filters by these texts.
alter table contact_renderings alter column document set statistics 0;

create table company_renderings (
  organization_id uuid not null,
  company_id uuid not null,
  version integer not null,
  source_xmin xid not null,
  source_ctid tid not null,
  document text not null,
  primary key (organization_id, company_id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
alter table company_renderings alter column document set statistics 0;

-- The rendering of a record. Concatenated, which takes two thirds of the time of row_to_json; plpgsql, because each
-- statement would plan a function in SQL again. `npm run check` compares it with the declaration of the resource.
create function contact_document(record contacts) returns text language plpgsql immutable parallel safe as $$
begin
  return '{' ||
    '"id":"con_' || replace(record.id::text, '-', '') || '"' || ',' ||
    '"email":' || coalesce(to_json(record.email)::text, 'null') || ',' ||
    '"firstName":' || coalesce(to_json(record.first_name)::text, 'null') || ',' ||
    '"lastName":' || coalesce(to_json(record.last_name)::text, 'null') || ',' ||
    '"phone":' || coalesce(to_json(record.phone)::text, 'null') || ',' ||
    '"createdAt":"' || to_char(record.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"' || ',' ||
    '"updatedAt":"' || to_char(record.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"' || ',' ||
    '"lastActivityAt":' || coalesce('"' || to_char(record.last_activity_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null') || ',' ||
    '"tags":' || case record.tags when '{}' then '[]' else array_to_json(record.tags)::text end || ',' ||
    '"status":' || to_json(record.status)::text || ',' ||
    '"emailOptOut":' || case when record.email_opt_out then 'true' else 'false' end || ',' ||
    '"customProperties":' || record.custom_properties::text || ',' ||
    '"name":' || coalesce(to_json(record.name)::text, 'null') || ',' ||
    '"nickname":' || coalesce(to_json(record.nickname)::text, 'null') || ',' ||
    '"bio":' || coalesce(to_json(record.bio)::text, 'null') || ',' ||
    '"avatar":' || coalesce(to_json(record.avatar)::text, 'null') || ',' ||
    '"website":' || coalesce(to_json(record.website)::text, 'null') || ',' ||
    '"location":' || coalesce(to_json(record.location)::text, 'null') || ',' ||
    '"timeZone":' || coalesce(to_json(record.time_zone)::text, 'null') || ',' ||
    '"city":' || coalesce(to_json(record.city)::text, 'null') || ',' ||
    '"state":' || coalesce(to_json(record.state)::text, 'null') || ',' ||
    '"countryCode":' || coalesce(to_json(record.country_code)::text, 'null') || ',' ||
    '"latitude":' || coalesce(record.latitude::text, 'null') || ',' ||
    '"longitude":' || coalesce(record.longitude::text, 'null') || ',' ||
    '"employmentTitle":' || coalesce(to_json(record.employment_title)::text, 'null') || ',' ||
    '"employmentSeniority":' || coalesce(to_json(record.employment_seniority)::text, 'null') || ',' ||
    '"facebookHandle":' || coalesce(to_json(record.facebook_handle)::text, 'null') || ',' ||
    '"githubHandle":' || coalesce(to_json(record.github_handle)::text, 'null') || ',' ||
    '"instagramHandle":' || coalesce(to_json(record.instagram_handle)::text, 'null') || ',' ||
    '"linkedinHandle":' || coalesce(to_json(record.linkedin_handle)::text, 'null') || ',' ||
    '"twitterHandle":' || coalesce(to_json(record.twitter_handle)::text, 'null') || ',' ||
    '"externalIds":' || record.external_ids::text || ',' ||
    '"rootContactId":"rcn_' || replace(record.root_contact_id::text, '-', '') || '"' || ',' ||
    '"teamId":"tea_' || replace(record.team_id::text, '-', '') || '"' || ',' ||
    '"ownerId":' || coalesce('"usr_' || replace(record.owner_id::text, '-', '') || '"', 'null') || ',' ||
    '"blockedAt":' || coalesce('"' || to_char(record.blocked_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null') || ',' ||
    '"source":' || coalesce(to_json(record.source)::text, 'null') || ',' ||
    '"importId":' || coalesce('"imp_' || replace(record.import_id::text, '-', '') || '"', 'null');
end
$$;

create function company_document(record companies) returns text language plpgsql immutable parallel safe as $$
begin
  return '{' ||
    '"id":"com_' || replace(record.id::text, '-', '') || '"' || ',' ||
    '"name":' || to_json(record.name)::text || ',' ||
    '"nickname":' || coalesce(to_json(record.nickname)::text, 'null') || ',' ||
    '"bio":' || coalesce(to_json(record.bio)::text, 'null') || ',' ||
    '"subtitle":' || coalesce(to_json(record.subtitle)::text, 'null') || ',' ||
    '"avatar":' || coalesce(to_json(record.avatar)::text, 'null') || ',' ||
    '"website":' || coalesce(to_json(record.website)::text, 'null') || ',' ||
    '"domain":' || coalesce(to_json(record.domain)::text, 'null') || ',' ||
    '"location":' || coalesce(to_json(record.location)::text, 'null') || ',' ||
    '"timeZone":' || coalesce(to_json(record.time_zone)::text, 'null') || ',' ||
    '"facebookHandle":' || coalesce(to_json(record.facebook_handle)::text, 'null') || ',' ||
    '"githubHandle":' || coalesce(to_json(record.github_handle)::text, 'null') || ',' ||
    '"instagramHandle":' || coalesce(to_json(record.instagram_handle)::text, 'null') || ',' ||
    '"linkedinHandle":' || coalesce(to_json(record.linkedin_handle)::text, 'null') || ',' ||
    '"twitterHandle":' || coalesce(to_json(record.twitter_handle)::text, 'null') || ',' ||
    '"annualRevenue":' || coalesce('"' || record.annual_revenue::text || '"', 'null') || ',' ||
    '"employeesCount":' || coalesce(record.employees_count::text, 'null') || ',' ||
    '"foundedYear":' || coalesce(record.founded_year::text, 'null') || ',' ||
    '"fundingStage":' || coalesce(to_json(record.funding_stage)::text, 'null') || ',' ||
    '"fundingTotal":' || coalesce('"' || record.funding_total::text || '"', 'null') || ',' ||
    '"retailLocationsCount":' || coalesce(record.retail_locations_count::text, 'null') || ',' ||
    '"ticker":' || coalesce(to_json(record.ticker)::text, 'null') || ',' ||
    '"industries":' || case record.industries when '{}' then '[]' else array_to_json(record.industries)::text end || ',' ||
    '"languages":' || case record.languages when '{}' then '[]' else array_to_json(record.languages)::text end || ',' ||
    '"stack":' || case record.stack when '{}' then '[]' else array_to_json(record.stack)::text end || ',' ||
    '"tags":' || case record.tags when '{}' then '[]' else array_to_json(record.tags)::text end || ',' ||
    '"externalIds":' || record.external_ids::text || ',' ||
    '"customProperties":' || record.custom_properties::text || ',' ||
    '"ownerId":' || coalesce('"usr_' || replace(record.owner_id::text, '-', '') || '"', 'null') || ',' ||
    '"lastActivityAt":' || coalesce('"' || to_char(record.last_activity_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null') || ',' ||
    '"createdAt":"' || to_char(record.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"' || ',' ||
    '"updatedAt":"' || to_char(record.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"';
end
$$;

-- The same by key. In a function, because otherwise every page would also plan this rarely needed read of the table.
create function contact_document(of_organization uuid, of_id uuid) returns text language plpgsql stable parallel safe as $$
begin
  return (select contact_document(record) from contacts record
    where record.organization_id = of_organization and record.id = of_id);
end
$$;

create function company_document(of_organization uuid, of_id uuid) returns text language plpgsql stable parallel safe as $$
begin
  return (select company_document(record) from companies record
    where record.organization_id = of_organization and record.id = of_id);
end
$$;

create table pipelines (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (organization_id, id)
);
create unique index pipelines_name_unique on pipelines (organization_id, fold(name)) where deleted_at is null;
create index pipelines_deleted on pipelines (deleted_at, id) where deleted_at is not null;

create table stages (
  organization_id uuid not null,
  id uuid not null,
  pipeline_id uuid not null,
  name text not null,
  "position" integer not null,
  kind text not null default 'open' check (kind in ('open', 'won', 'lost')),
  probability integer not null check (probability between 0 and 100),
  rotting_days integer,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (organization_id, id),
  foreign key (organization_id, pipeline_id) references pipelines (organization_id, id) on delete cascade
);
-- The stages of a pipeline, in order. Deleted ones too, because they are purged with it.
create index stages_pipeline on stages (organization_id, pipeline_id, "position", id);
create index stages_deleted on stages (deleted_at, id) where deleted_at is not null;

create table deals (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  amount numeric,
  currency text not null,
  pipeline_id uuid not null,
  stage_id uuid not null,
  "position" numeric not null,
  status text not null default 'open' check (status in ('open', 'won', 'lost')),
  lost_reason text,
  expected_close_date date,
  stage_changed_at timestamptz(3) not null,
  closed_at timestamptz(3),
  company_id uuid,
  owner_id uuid,
  external_ids jsonb not null default '{}',
  custom_properties jsonb not null default '{}',
  last_activity_at timestamptz(3),
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  search text not null generated always as (fold(name)) stored,
  primary key (organization_id, id),
  foreign key (organization_id, pipeline_id) references pipelines (organization_id, id),
  foreign key (organization_id, stage_id) references stages (organization_id, id),
  -- Maintenance releases the deals of a company before it purges it.
  foreign key (organization_id, company_id) references companies (organization_id, id)
);
create index deals_created on deals (organization_id, created_at, id) where deleted_at is null;
create index deals_updated on deals (organization_id, updated_at, id) where deleted_at is null;
create index deals_last_activity on deals (organization_id, last_activity_at, id) where deleted_at is null;
create index deals_closed on deals (organization_id, closed_at, id) where deleted_at is null;
create index deals_expected_close_date on deals (organization_id, expected_close_date, id) where deleted_at is null;
create index deals_amount on deals (organization_id, amount, id) where deleted_at is null;
create index deals_name on deals (organization_id, (sort_key(name) collate "C"), id) where deleted_at is null;
create index deals_status on deals (organization_id, status, created_at, id) where deleted_at is null;
create index deals_pipeline on deals (organization_id, pipeline_id, created_at, id);
-- A column of the board, from the top.
create index deals_stage on deals (organization_id, stage_id, "position", id);
create index deals_company on deals (organization_id, company_id, created_at, id) where company_id is not null;
create index deals_owner on deals (organization_id, owner_id, created_at, id)
  where owner_id is not null and deleted_at is null;
create index deals_search on deals using gin (search gin_trgm_ops) where deleted_at is null;
create index deals_external_ids on deals using gin (external_ids jsonb_path_ops) where deleted_at is null;
create index deals_custom_properties on deals using gin (custom_properties jsonb_path_ops) where deleted_at is null;
create index deals_deleted on deals (deleted_at, id) where deleted_at is not null;
create index deals_deleted_list on deals (organization_id, created_at, id) where deleted_at is not null;

create table deal_external_ids (
  organization_id uuid not null,
  provider text not null,
  value text not null,
  deal_id uuid not null,
  primary key (organization_id, provider, value),
  foreign key (organization_id, deal_id) references deals (organization_id, id) on delete cascade
);
create index deal_external_ids_deal on deal_external_ids (organization_id, deal_id);

create table deal_contacts (
  organization_id uuid not null,
  id uuid not null,
  deal_id uuid not null,
  contact_id uuid not null,
  role text,
  is_primary boolean not null default false,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (organization_id, id),
  foreign key (organization_id, deal_id) references deals (organization_id, id) on delete cascade,
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade
);
create unique index deal_contacts_unique on deal_contacts (organization_id, deal_id, contact_id)
  where deleted_at is null;
create unique index deal_contacts_is_primary_unique on deal_contacts (organization_id, deal_id)
  where is_primary and deleted_at is null;
create index deal_contacts_deal on deal_contacts (organization_id, deal_id, created_at, id);
create index deal_contacts_contact on deal_contacts (organization_id, contact_id);
create index deal_contacts_deleted on deal_contacts (deleted_at, id) where deleted_at is not null;
create index deal_contacts_deleted_of_deal on deal_contacts (organization_id, deal_id, created_at, id)
  where deleted_at is not null;

create table tasks (
  organization_id uuid not null,
  id uuid not null,
  title text not null,
  body text,
  due_date date,
  due_at timestamptz(3),
  time_zone text not null,
  -- `due_at`, or the end of `due_date` in `time_zone`.
  deadline timestamptz(3),
  priority text not null default 'normal' check (priority in ('low', 'normal', 'high', 'urgent')),
  done boolean not null default false,
  done_at timestamptz(3),
  contact_id uuid,
  company_id uuid,
  deal_id uuid,
  assignee_id uuid,
  created_by_id uuid,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  search text not null generated always as (fold(title)) stored,
  primary key (organization_id, id),
  check (num_nonnulls(due_date, due_at) <= 1),
  check ((deadline is null) = (num_nonnulls(due_date, due_at) = 0)),
  check (done = (done_at is not null)),
  check (num_nonnulls(contact_id, company_id, deal_id) <= 1),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade,
  foreign key (organization_id, company_id) references companies (organization_id, id) on delete cascade,
  foreign key (organization_id, deal_id) references deals (organization_id, id) on delete cascade
);
create index tasks_created on tasks (organization_id, created_at, id) where deleted_at is null;
create index tasks_deadline on tasks (organization_id, deadline, id) where deleted_at is null;
-- Serves `task_is_overdue`: tasks that are done have a deadline in the past too, and most tasks are done.
create index tasks_open on tasks (organization_id, deadline, id) where not done and deleted_at is null;
create index tasks_contact on tasks (organization_id, contact_id, created_at, id) where contact_id is not null;
create index tasks_company on tasks (organization_id, company_id, created_at, id) where company_id is not null;
create index tasks_deal on tasks (organization_id, deal_id, created_at, id) where deal_id is not null;
create index tasks_assignee on tasks (organization_id, assignee_id, created_at, id)
  where assignee_id is not null and deleted_at is null;
create index tasks_search on tasks using gin (search gin_trgm_ops) where deleted_at is null;
create index tasks_deleted on tasks (deleted_at, id) where deleted_at is not null;
create index tasks_deleted_list on tasks (organization_id, created_at, id) where deleted_at is not null;

create function task_is_overdue(done boolean, deadline timestamptz) returns boolean language sql stable parallel safe
return deadline is not null and not done and deadline < now();

create table campaigns (
  organization_id uuid not null,
  id uuid not null,
  name text not null,
  subject text,
  description text,
  status text not null default 'draft',
  status_reason text,
  kind text not null default 'broadcast',
  purpose text not null default 'marketing',
  tags text[] not null default '{}',
  audience jsonb,
  schedule jsonb,
  stats jsonb,
  owner_id uuid,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  search text not null generated always as (fold(name || E'\n' || coalesce(subject, ''))) stored,
  primary key (organization_id, id)
);
create index campaigns_created on campaigns (organization_id, created_at, id) where deleted_at is null;
create index campaigns_updated on campaigns (organization_id, updated_at, id) where deleted_at is null;
create index campaigns_name on campaigns (organization_id, (sort_key(name) collate "C"), id) where deleted_at is null;
create index campaigns_owner on campaigns (organization_id, owner_id, created_at, id)
  where owner_id is not null and deleted_at is null;
create index campaigns_search on campaigns using gin (search gin_trgm_ops) where deleted_at is null;
create index campaigns_tags on campaigns using gin (tags) where deleted_at is null;
create index campaigns_deleted on campaigns (deleted_at, id) where deleted_at is not null;
create index campaigns_deleted_list on campaigns (organization_id, created_at, id) where deleted_at is not null;

-- The records of an organization that are example data. `content` is a hash of what a person can change, so that a
-- record that somebody has made their own is kept. The row whose record is the organization says that there are some.
create table example_records (
  organization_id uuid not null,
  record_id uuid not null,
  kind text not null check (kind in ('set', 'companies', 'contacts', 'deals', 'tasks', 'notes')),
  content bytea,
  primary key (organization_id, record_id)
);
