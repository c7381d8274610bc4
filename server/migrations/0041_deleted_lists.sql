-- rapport: no transaction
-- The deleted records of an organization or a parent, in the default order of lists. The indexes contain only deleted
-- records, so that creating and changing the others costs nothing more. Organizations have few teams.
drop index concurrently if exists contacts_deleted_list;
create index concurrently contacts_deleted_list on contacts (organization_id, created_at, id) where deleted_at is not null;
drop index concurrently if exists companies_deleted_list;
create index concurrently companies_deleted_list on companies (organization_id, created_at, id) where deleted_at is not null;
drop index concurrently if exists employments_deleted_list;
create index concurrently employments_deleted_list on employments (organization_id, contact_id, created_at, id)
  where deleted_at is not null;
drop index concurrently if exists notes_deleted_list;
create index concurrently notes_deleted_list on notes (organization_id, created_at, id) where deleted_at is not null;
drop index concurrently if exists notes_deleted_of_contact;
create index concurrently notes_deleted_of_contact on notes (organization_id, contact_id, created_at, id)
  where deleted_at is not null;
drop index concurrently if exists campaigns_deleted_list;
create index concurrently campaigns_deleted_list on campaigns (organization_id, created_at, id) where deleted_at is not null;
drop index concurrently if exists imports_deleted_list;
create index concurrently imports_deleted_list on imports (organization_id, created_at, id) where deleted_at is not null;
