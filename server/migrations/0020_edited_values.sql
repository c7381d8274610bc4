-- Values that a person, or a program in their name, took out of a record or replaced: no import brings them back. Imports
-- add to tags, external ids, jobs and notes, so that it takes more than the name of a changed field (contact_edits) to know
-- what to leave alone. Of each value only the SHA-256 of its text: some are longer than an index takes.
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

-- A contact is found by an external id that a person took from it, a company by the name that it had before.
create index contact_edited_external_ids on contact_edited_values (organization_id, digest) where field = 'externalIds';
create index company_edited_names on company_edited_values (organization_id, digest) where field = 'name';

-- Deleted notes and jobs were found in their own tables until they were purged; now they are remembered here for good.
insert into contact_edited_values (organization_id, contact_id, field, digest)
select organization_id, contact_id, 'notes', sha256(convert_to(body, 'UTF8'))
from notes where deleted_at is not null
on conflict do nothing;

insert into contact_edited_values (organization_id, contact_id, field, digest)
select organization_id, contact_id, 'employments', sha256(convert_to(
  lower(organization) || E'\n' || lower(coalesce(title, '')) || E'\n' || coalesce("start", ''), 'UTF8'))
from employments where deleted_at is not null
on conflict do nothing;
