-- Deals in the stages of pipelines. None of these tables references organizations or members: those belong to another
-- place (docs/architecture.md, Tenancy).

-- A new id: a UUIDv7 (RFC 9562), for records that a statement creates without the service.
create function new_id() returns uuid language sql volatile parallel safe as $$
  select encode(
    set_byte(
      set_byte(random_bytes, 6, (get_byte(random_bytes, 6) & 15) | 112),
      8, (get_byte(random_bytes, 8) & 63) | 128), 'hex')::uuid
  from (
    select substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
      || substring(uuid_send(gen_random_uuid()) from 7) as random_bytes) generated
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
-- The stages of a pipeline, in order. Deleted ones too, because they go with it.
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
  status text not null default 'open' check (status in ('open', 'won', 'lost')),
  lost_reason text,
  owner_id uuid,
  company_id uuid,
  expected_close_date date,
  "position" numeric not null,
  stage_changed_at timestamptz(3) not null,
  closed_at timestamptz(3),
  last_activity_at timestamptz(3),
  external_ids jsonb not null default '{}',
  custom_properties jsonb not null default '{}',
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  -- What `query` and `contains` look into, folded; lines keep the fields apart.
  search text not null generated always as (fold(name)) stored,
  primary key (organization_id, id),
  foreign key (organization_id, pipeline_id) references pipelines (organization_id, id),
  foreign key (organization_id, stage_id) references stages (organization_id, id),
  foreign key (organization_id, company_id) references companies (organization_id, id) on delete set null (company_id)
);
create index deals_name on deals (organization_id, (sort_key(name) collate "C"), id) where deleted_at is null;
create index deals_amount on deals (organization_id, amount, id) where deleted_at is null;
create index deals_expected_close_date on deals (organization_id, expected_close_date, id) where deleted_at is null;
create index deals_closed on deals (organization_id, closed_at, id) where deleted_at is null;
create index deals_last_activity on deals (organization_id, last_activity_at, id) where deleted_at is null;
create index deals_created on deals (organization_id, created_at, id) where deleted_at is null;
create index deals_updated on deals (organization_id, updated_at, id) where deleted_at is null;
create index deals_pipeline on deals (organization_id, pipeline_id, created_at, id);
-- A column of the board, from the top.
create index deals_stage on deals (organization_id, stage_id, "position", id);
create index deals_company on deals (organization_id, company_id, created_at, id) where company_id is not null;
create index deals_status on deals (organization_id, status, created_at, id) where deleted_at is null;
create index deals_owner on deals (organization_id, owner_id, created_at, id)
  where owner_id is not null and deleted_at is null;
create index deals_search on deals using gin (search gin_trgm_ops) where deleted_at is null;
create index deals_external_ids on deals using gin (external_ids jsonb_path_ops) where deleted_at is null;
create index deals_custom_properties on deals using gin (custom_properties jsonb_path_ops) where deleted_at is null;
create index deals_deleted on deals (deleted_at, id) where deleted_at is not null;
create index deals_deleted_list on deals (organization_id, created_at, id) where deleted_at is not null;

-- Makes external ids unique among deals that are not deleted.
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
create unique index deal_contacts_unique on deal_contacts (organization_id, deal_id, contact_id) where deleted_at is null;
create unique index deal_contacts_is_primary_unique on deal_contacts (organization_id, deal_id) where is_primary and deleted_at is null;
create index deal_contacts_deal on deal_contacts (organization_id, deal_id, created_at, id);
create index deal_contacts_contact on deal_contacts (organization_id, contact_id);
create index deal_contacts_deleted on deal_contacts (deleted_at, id) where deleted_at is not null;
create index deal_contacts_deleted_of_deal on deal_contacts (organization_id, deal_id, created_at, id) where deleted_at is not null;

create table stage_moves (
  organization_id uuid not null,
  id uuid not null,
  deal_id uuid not null,
  from_stage_id uuid not null,
  from_stage_name text not null,
  to_stage_id uuid not null,
  to_stage_name text not null,
  seconds_in_stage integer not null,
  moved_by_id uuid,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, id),
  foreign key (organization_id, deal_id) references deals (organization_id, id) on delete cascade
);
create index stage_moves_deal on stage_moves (organization_id, deal_id, created_at, id);

-- The first pipeline of each existing organization; a new one gets the same from the service.
with made as (
  insert into pipelines (organization_id, id, name) select id, new_id(), 'Sales' from organizations
  returning organization_id, id)
insert into stages (organization_id, pipeline_id, id, name, "position", kind, probability, rotting_days)
select made.organization_id, made.id, new_id(), stage.name, stage.place, stage.kind, stage.probability, stage.rotting_days
from made, (values
  ('Lead', 0, 'open', 10, 14),
  ('Qualified', 1, 'open', 25, 14),
  ('Proposal', 2, 'open', 50, 21),
  ('Negotiation', 3, 'open', 75, 14),
  ('Won', 4, 'won', 100, null),
  ('Lost', 5, 'lost', 0, null)) as stage (name, place, kind, probability, rotting_days);
