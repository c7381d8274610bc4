-- Indexes and tables with which database maintenance finds expired data, even among a large amount of current data.

-- Deleted records, the oldest first. These indexes contain no other records.
create index contacts_deleted on contacts (deleted_at, id) where deleted_at is not null;
create index employments_deleted on employments (deleted_at, id) where deleted_at is not null;
create index notes_deleted on notes (deleted_at, id) where deleted_at is not null;
create index companies_deleted on companies (deleted_at, id) where deleted_at is not null;
create index campaigns_deleted on campaigns (deleted_at, id) where deleted_at is not null;
create index imports_deleted on imports (deleted_at, id) where deleted_at is not null;
create index teams_deleted on teams (deleted_at, id) where deleted_at is not null;
-- The foreign key looks for a deleted team in all contacts, including deleted ones. Without this index, it reads every
-- contact of the organization (0.4 s at 50,000), which exceeds the statement timeout at a million. The index does not
-- start with the organization, because searches would otherwise intersect their results with all contacts of the
-- organization (100 ms at a million).
create index contacts_of_team on contacts (team_id);
-- Finished rows. Waiting rows are excluded, so that accepting a push does not write to this index.
create index import_rows_finished on import_rows (finished_at, id) where finished_at is not null;
create index sessions_ended on sessions (ended_at, id) where ended_at is not null;
create index import_triggers_ending on import_triggers (expires_at) where expires_at is not null;

-- Root contacts that a contact no longer uses, because its address has changed or it was purged. Maintenance checks
-- whether another contact uses them. Rows are only appended, so that changes of contacts never wait for each other
-- here. There is no foreign key, because the root contact may already be purged.
create table root_contacts_left (
  organization_id uuid not null,
  id uuid not null,
  left_at timestamptz(3) not null default now()
);
create index root_contacts_left_at on root_contacts_left (left_at, id);
create index root_contacts_left_id on root_contacts_left (organization_id, id);

create function note_left_root() returns trigger language plpgsql as $$
begin
  insert into root_contacts_left (organization_id, id) values (old.organization_id, old.root_contact_id);
  return null;
end $$;
create trigger contacts_root_changed after update of root_contact_id on contacts
  for each row when (old.root_contact_id <> new.root_contact_id) execute function note_left_root();
create trigger contacts_root_deleted after delete on contacts
  for each row execute function note_left_root();

-- Unused root contacts from before this migration.
insert into root_contacts_left (organization_id, id)
select organization_id, id from root_contacts root
where not exists (
  select from contacts where contacts.organization_id = root.organization_id and contacts.root_contact_id = root.id);

-- A GIN index stores recent entries in a pending list, which each search reads completely and which the insert that
-- fills it merges into the index. The default size is 4 MB. Measured at 100,000 contacts, with single inserts and
-- searches in between, 256 kB against the default: an insert takes the same time (1.11 ms of CPU instead of 1.13), a
-- search for an absent fragment 0.45 times as long (0.65 ms instead of 1.45), and the longest insert a third (98 ms
-- instead of 295; in one run 180 instead of 793). With 64 kB, searches take 0.2 times and inserts 1.05 times as long, and
-- without a list, inserts take 1.8 times as long.
alter index contacts_search set (gin_pending_list_limit = 256);
alter index contacts_tags set (gin_pending_list_limit = 256);
alter index contacts_properties set (gin_pending_list_limit = 256);
alter index contacts_external set (gin_pending_list_limit = 256);
alter index companies_search set (gin_pending_list_limit = 256);
alter index companies_tags set (gin_pending_list_limit = 256);
alter index companies_properties set (gin_pending_list_limit = 256);
alter index companies_external set (gin_pending_list_limit = 256);
alter index notes_search set (gin_pending_list_limit = 256);

-- By default, autovacuum runs when a fifth of a table is dead: at a million contacts, pages would read past 200,000
-- dead rows, and statistics would be updated as rarely. In tables that change all the time, it runs earlier and has
-- less to do each time.
do $$
declare
  hot text;
begin
  foreach hot in array array['contacts', 'companies', 'employments', 'notes', 'contact_external_ids', 'root_contacts',
    'root_contacts_left', 'idempotency_answers', 'import_push_keys'] loop
    execute format('alter table %I set (autovacuum_vacuum_scale_factor = 0.03,
      autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.03)', hot);
  end loop;
end $$;
