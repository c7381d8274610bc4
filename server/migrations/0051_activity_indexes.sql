-- rapport: no transaction
alter table notes validate constraint notes_one_parent;
alter table notes validate constraint notes_company_id_fkey;
alter table notes validate constraint notes_deal_id_fkey;
drop index concurrently if exists notes_company;
create index concurrently notes_company on notes (organization_id, company_id, created_at, id) where company_id is not null;
drop index concurrently if exists notes_deal;
create index concurrently notes_deal on notes (organization_id, deal_id, created_at, id) where deal_id is not null;
drop index concurrently if exists notes_deleted_of_company;
create index concurrently notes_deleted_of_company on notes (organization_id, company_id, created_at, id)
  where deleted_at is not null;
drop index concurrently if exists notes_deleted_of_deal;
create index concurrently notes_deleted_of_deal on notes (organization_id, deal_id, created_at, id)
  where deleted_at is not null;
drop index concurrently if exists companies_last_activity;
create index concurrently companies_last_activity on companies (organization_id, last_activity_at, id) where deleted_at is null;
