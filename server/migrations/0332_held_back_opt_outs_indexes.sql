-- rapport: no transaction
drop index concurrently if exists suggestions_import;
create index concurrently suggestions_import on suggestions (organization_id, import_id, created_at, id)
  where import_id is not null;
-- The alarm of an import.
drop index concurrently if exists suggestions_held_back;
create index concurrently suggestions_held_back on suggestions (organization_id, import_id, created_at)
  where waiting_reason = 'many_opt_outs' and status = 'pending';
