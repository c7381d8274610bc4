-- rapport: no transaction
drop index concurrently if exists members_role;
create index concurrently members_role on members (organization_id, role_id);
drop index concurrently if exists invitations_role;
create index concurrently invitations_role on invitations (organization_id, role_id);
