-- Definitions of custom properties.

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

-- What a write of a resource needs to know, in one row: the definitions of its properties as JSON. A write locks the row
-- for key share and a change of the definitions for update, so that no write is validated by former definitions.
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
