-- rapport: no transaction
-- The contacts of an import. Those that no import created are not in the index, so that creating them costs nothing more.
drop index concurrently if exists contacts_import;
create index concurrently contacts_import on contacts (organization_id, import_id, created_at, id)
  where deleted_at is null and import_id is not null;
-- The index of the default order also contains the source, so that statistics about new contacts read no table.
drop index concurrently if exists contacts_created_and_source;
create index concurrently contacts_created_and_source on contacts (organization_id, created_at, id)
  include (status, email_opt_out, country_code, time_zone, employment_seniority, city, state, source, import_id)
  where deleted_at is null;
drop index concurrently if exists contacts_created;
alter index contacts_created_and_source rename to contacts_created;
