-- Custom properties: their definitions, the values of unique ones, and the indexes that filters and sorts use.

create table properties (
  organization_id uuid not null,
  id uuid not null,
  resource text not null check (resource in ('contacts', 'companies', 'deals')),
  key text not null check (key ~ '^[A-Za-z][A-Za-z0-9_]{0,63}$'),
  type text not null check (type in ('text', 'number', 'boolean', 'date', 'instant', 'choice', 'multiChoice', 'url',
    'email', 'phone', 'money', 'reference')),
  label text not null,
  description text,
  choices jsonb not null default '[]',
  "references" text check ("references" in ('contacts', 'companies', 'deals', 'members')),
  required boolean not null default false,
  "unique" boolean not null default false,
  "default" jsonb,
  indexed boolean not null default false,
  archived boolean not null default false,
  "position" numeric not null,
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (organization_id, id),
  check (("references" is not null) = (type = 'reference'))
);
create unique index properties_key_unique on properties (organization_id, resource, key) where deleted_at is null;
create index properties_deleted on properties (deleted_at, id) where deleted_at is not null;

-- The definitions of a resource as JSON, in one row: what a write needs to know. A write locks the row for key share,
-- and a change of the definitions locks it for update, so that no write is validated by outdated definitions.
create table property_sets (
  organization_id uuid not null,
  resource text not null,
  revision integer not null default 0,
  refuses_undeclared boolean not null default false,
  definitions jsonb not null default '[]',
  primary key (organization_id, resource)
);

-- The values of unique properties of records that are not deleted, as SHA-256 hashes, because they can be long.

create table contact_unique_values (
  organization_id uuid not null,
  property_id uuid not null,
  value bytea not null,
  contact_id uuid not null,
  primary key (organization_id, property_id, value),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade
);
create index contact_unique_values_contact on contact_unique_values (organization_id, contact_id);

create table company_unique_values (
  organization_id uuid not null,
  property_id uuid not null,
  value bytea not null,
  company_id uuid not null,
  primary key (organization_id, property_id, value),
  foreign key (organization_id, company_id) references companies (organization_id, id) on delete cascade
);
create index company_unique_values_company on company_unique_values (organization_id, company_id);

create table deal_unique_values (
  organization_id uuid not null,
  property_id uuid not null,
  value bytea not null,
  deal_id uuid not null,
  primary key (organization_id, property_id, value),
  foreign key (organization_id, deal_id) references deals (organization_id, id) on delete cascade
);
create index deal_unique_values_deal on deal_unique_values (organization_id, deal_id);

-- For each indexed property, the values of all records in one table, so that an organization needs no index of its own
-- (docs/decisions/0018-property-indexes.md).

create table property_indexes (
  organization_id uuid not null,
  id uuid not null,
  property_id uuid not null,
  -- What its entries are made from: the table of the records, the key, the type, and the id prefix of a reference.
  resource text not null,
  key text not null,
  type text not null,
  id_prefix text not null,
  state text not null default 'building' check (state in ('building', 'ready', 'dropped')),
  -- The records up to this id have their entries.
  built_to uuid not null default '00000000-0000-0000-0000-000000000000',
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, id)
);
create unique index property_indexes_property on property_indexes (organization_id, property_id)
  where state <> 'dropped';
create index property_indexes_work on property_indexes (organization_id, id) where state <> 'ready';

-- One row for each value of an indexed property that a record has; none for deleted records. A record has several
-- values of a property of the type multiChoice.
create table property_entries (
  organization_id uuid not null,
  record_id uuid not null,
  index_id uuid not null,
  -- Of the index and the exact value, so that it identifies both.
  value_hash uuid not null,
  -- What the values sort by: a number (also of dates, instants and booleans), or a text.
  number numeric not null,
  text text collate "C" not null,
  -- When the record was created.
  created_at timestamptz(3) not null,
  primary key (organization_id, record_id, index_id, value_hash)
);
-- For counts: PostgreSQL stores each value of this index only once, so that it is the smallest.
create index property_entries_value on property_entries (organization_id, value_hash);
create index property_entries_created on property_entries (organization_id, value_hash, created_at, record_id);
create index property_entries_sorted on property_entries (organization_id, index_id, number, text, record_id)
  include (created_at);

create function property_value_hash(index_id uuid, value text) returns uuid language sql immutable strict parallel safe
  return encode(substr(sha256(convert_to(index_id::text || value, 'UTF8')), 1, 16), 'hex')::uuid;

-- The entries of a record's value. Empty for a value that does not fit the type, which filters do not find either.
create function property_values_of(index_id uuid, type text, id_prefix text, value jsonb)
  returns table (value_hash uuid, number numeric, text text) language sql stable parallel safe as $$
  with typed as (
    select
      case
        when type = 'number' then case when jsonb_typeof(value) = 'number' then value::numeric end
        when type = 'boolean' then case when jsonb_typeof(value) = 'boolean' then value::boolean::integer end
        when type = 'date' then extract(epoch from instant(value #>> '{}')::date)
        when type = 'instant' then extract(epoch from instant(value #>> '{}'))
        when type = 'money' and value ->> 'amount' ~ '^-?[0-9]+(\.[0-9]+)?$' then (value ->> 'amount')::numeric
      end as number,
      case
        when type in ('number', 'boolean', 'date', 'instant', 'money', 'multiChoice') then null
        when jsonb_typeof(value) <> 'string' then null
        when type <> 'reference' then value #>> '{}'
        when value #>> '{}' ~ ('^' || id_prefix || '_[0-9a-f]{32}$')
          then substring(value #>> '{}' from length(id_prefix) + 2)::uuid::text
      end as text)
  select property_value_hash(index_id, trim_scale(number)::text), number, '' from typed where number is not null
  union all
  select property_value_hash(index_id, text), 0, sort_key(text) from typed where text is not null
  union all
  select distinct property_value_hash(index_id, item), 0::numeric, sort_key(item)
  from jsonb_array_elements_text(
    case when type = 'multiChoice' and jsonb_typeof(value) = 'array' then value else '[]' end) item
  where item is not null
$$;

create function property_index_state(of_organization uuid, of_property uuid) returns text language sql stable as $$
  select coalesce((select state from property_indexes
    where organization_id = of_organization and property_id = of_property and state <> 'dropped'), 'none')
$$;
