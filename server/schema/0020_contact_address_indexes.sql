-- rapport: no transaction
-- Indexes of further addresses and numbers. Only contacts with such entries are in these indexes.
drop index concurrently if exists contacts_emails;
create index concurrently contacts_emails on contacts using gin (emails jsonb_path_ops)
  with (gin_pending_list_limit = 256) where emails is not null;
drop index concurrently if exists contacts_further;
create index concurrently contacts_further on contacts using gin (further_text(emails, phones) gin_trgm_ops)
  with (gin_pending_list_limit = 256) where emails is not null or phones is not null;
