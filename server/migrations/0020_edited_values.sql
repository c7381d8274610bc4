-- Values that a person or a program on their behalf has removed or replaced. Imports do not add them again. Imports add
-- to tags, external ids, employments and notes, so for these the name of a changed field (contact_edits) is not enough.
-- Only the SHA-256 of each value is stored, because some values are too long for an index.
create table contact_edited_values (
  organization_id uuid not null,
  contact_id uuid not null,
  field text not null,
  digest bytea not null,
  primary key (organization_id, contact_id, field, digest),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade
);
create table company_edited_values (
  organization_id uuid not null,
  company_id uuid not null,
  field text not null,
  digest bytea not null,
  primary key (organization_id, company_id, field, digest),
  foreign key (organization_id, company_id) references companies (organization_id, id) on delete cascade
);

-- A contact is also matched by an external id that a person removed from it, and a company by its former name.
create index contact_edited_external_ids on contact_edited_values (organization_id, digest) where field = 'externalIds';
create index company_edited_names on company_edited_values (organization_id, digest) where field = 'name';

-- Deleted notes and employments were only known until they were purged. From now on, this table stores their hashes
-- permanently.
insert into contact_edited_values (organization_id, contact_id, field, digest)
select organization_id, contact_id, 'notes', sha256(convert_to(body, 'UTF8'))
from notes where deleted_at is not null
on conflict do nothing;

insert into contact_edited_values (organization_id, contact_id, field, digest)
select organization_id, contact_id, 'employments', sha256(convert_to(
  lower(organization) || E'\n' || lower(coalesce(title, '')) || E'\n' || coalesce("start", ''), 'UTF8'))
from employments where deleted_at is not null
on conflict do nothing;
