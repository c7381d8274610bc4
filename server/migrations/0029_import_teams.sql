-- rapport: no transaction
-- Deleting or purging a team looks for the imports that refer to it.
drop index concurrently if exists imports_team;
create index concurrently imports_team on imports (organization_id, team_id);
