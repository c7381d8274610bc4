-- Indexes of custom properties: for each indexed property, the values of all records in one table, so that an organization
-- needs no index of its own. docs/decisions explains the design and its measurements.

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

-- One row for each value of an indexed property that a record has; none for deleted records. A record has several values
-- of a property of the type multiChoice.
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
