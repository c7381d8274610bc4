-- rapport: no transaction
-- The index that lists use also contains the short fields that have no other index, so that a count by one of them
-- reads the index instead of the table, in a quarter of the time. They are not in a separate index, because the planner
-- would read all of it for an organization that is newer than the last statistics. The longest values of these fields
-- together fit into an index entry (2704 bytes).
drop index concurrently if exists contacts_created_and_plain;
create index concurrently contacts_created_and_plain on contacts (organization_id, created_at, id)
  include (status, email_opt_out, country_code, time_zone, employment_seniority, city, state) where deleted_at is null;
drop index concurrently if exists contacts_created;
alter index contacts_created_and_plain rename to contacts_created;
