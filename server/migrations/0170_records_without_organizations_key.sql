-- Tables of records and tables of people belong to different places (docs/architecture.md, Tenancy), so no foreign key
-- connects them. Organizations are never deleted, so these keys have never removed anything.
alter table companies drop constraint if exists companies_organization_id_fkey;
alter table contacts drop constraint if exists contacts_organization_id_fkey;
alter table root_contacts drop constraint if exists root_contacts_organization_id_fkey;
alter table employments drop constraint if exists employments_organization_id_fkey;
alter table campaigns drop constraint if exists campaigns_organization_id_fkey;
alter table imports drop constraint if exists imports_organization_id_fkey;
alter table notes drop constraint if exists notes_organization_id_fkey;
alter table idempotency_answers drop constraint if exists idempotency_answers_organization_id_fkey;
