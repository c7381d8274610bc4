-- rapport: no transaction
-- The campaigns of an owner in the default order: the first page of a person who sees only their own.
drop index concurrently if exists campaigns_owner;
create index concurrently campaigns_owner on campaigns (organization_id, owner_id, created_at, id)
  where owner_id is not null and deleted_at is null;
