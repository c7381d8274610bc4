-- rapport: no transaction
-- The records of an owner in the default order: the first page of a person who sees only their own.
drop index concurrently if exists contacts_owner;
create index concurrently contacts_owner on contacts (organization_id, owner_id, created_at, id)
  where owner_id is not null and deleted_at is null;
drop index concurrently if exists companies_owner;
create index concurrently companies_owner on companies (organization_id, owner_id, created_at, id)
  where owner_id is not null and deleted_at is null;
