-- rapport: no transaction
-- The company of an employment, and the list of all employments. Each statement can be repeated.

alter table employments add column if not exists company_id uuid;

-- Deleted ones too: the purge of a company looks for them.
drop index concurrently if exists employments_company;
create index concurrently employments_company on employments (organization_id, company_id, created_at, id)
  where company_id is not null;

drop index concurrently if exists employments_created;
create index concurrently employments_created on employments (organization_id, created_at, id) where deleted_at is null;

drop index concurrently if exists employments_all_deleted;
create index concurrently employments_all_deleted on employments (organization_id, created_at, id)
  where deleted_at is not null;
