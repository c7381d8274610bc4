-- rapport: no transaction
-- Events and changes that have expired. Rows of one transaction have the same time, so the indexes stay small.
drop index concurrently if exists audit_events_expiring;
create index concurrently audit_events_expiring on audit_events (created_at);
drop index concurrently if exists contact_changes_expiring;
create index concurrently contact_changes_expiring on contact_changes (created_at);
drop index concurrently if exists company_changes_expiring;
create index concurrently company_changes_expiring on company_changes (created_at);
drop index concurrently if exists deal_changes_expiring;
create index concurrently deal_changes_expiring on deal_changes (created_at);
