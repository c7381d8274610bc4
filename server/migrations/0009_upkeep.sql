-- What the upkeep of the database needs: ways to find what is no longer kept, whatever amount of the rest there is.

-- Records that were deleted, the first one first. Nothing but they are in these indexes.
create index contacts_deleted on contacts (deleted_at, id) where deleted_at is not null;
create index employments_deleted on employments (deleted_at, id) where deleted_at is not null;
create index notes_deleted on notes (deleted_at, id) where deleted_at is not null;
create index companies_deleted on companies (deleted_at, id) where deleted_at is not null;
create index campaigns_deleted on campaigns (deleted_at, id) where deleted_at is not null;
create index imports_deleted on imports (deleted_at, id) where deleted_at is not null;
create index teams_deleted on teams (deleted_at, id) where deleted_at is not null;
-- A team that goes is looked for in all contacts, the deleted ones too, by its foreign key: without this that reads every
-- contact of the organization (0.4 s at 50,000), more than a statement may take at a million. Without the organization,
-- or searches would read all of that beside what they found (100 ms at a million).
create index contacts_of_team on contacts (team_id);
-- Rows that have come to their end; those that wait are not in it, so that accepting a push writes nothing here.
create index import_rows_finished on import_rows (finished_at, id) where finished_at is not null;
create index sessions_ended on sessions (ended_at, id) where ended_at is not null;
create index import_triggers_ending on import_triggers (expires_at) where expires_at is not null;

-- People that a contact has let go of, by a new address or because it is gone: the upkeep looks whether anyone else
-- stands for them. Appended to alone, so that no change of a contact waits for another one here; and without a foreign
-- key, because whoever is gone may be in it.
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

-- Those of the time before.
insert into root_contacts_left (organization_id, id)
select organization_id, id from root_contacts root
where not exists (
  select from contacts where contacts.organization_id = root.organization_id and contacts.root_contact_id = root.id);

-- A GIN index keeps what was written last in a list, which each search reads from end to end and the insert that fills it
-- sorts in. Default 4 MB. Measured at 100,000 contacts, inserts one by one with searches in between: with 256 kB an insert
-- costs the same (1.11 ms of CPU against 1.13), a search for an absent fragment 0.45 times as much (0.65 ms against 1.45),
-- and the longest insert takes a third (98 ms against 295; once 180 against 793). 64 kB: searches 0.2 times, inserts 1.05
-- times; no list at all: inserts 1.8 times.
alter index contacts_search set (gin_pending_list_limit = 256);
alter index contacts_tags set (gin_pending_list_limit = 256);
alter index contacts_properties set (gin_pending_list_limit = 256);
alter index contacts_external set (gin_pending_list_limit = 256);
alter index companies_search set (gin_pending_list_limit = 256);
alter index companies_tags set (gin_pending_list_limit = 256);
alter index companies_properties set (gin_pending_list_limit = 256);
alter index companies_external set (gin_pending_list_limit = 256);
alter index notes_search set (gin_pending_list_limit = 256);

-- Autovacuum comes when a fifth of a table is dead, at a million contacts 200,000 rows that pages walk past, and looks at
-- what there is as rarely. In tables that change all the time it comes sooner, and has less to do each time.
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
