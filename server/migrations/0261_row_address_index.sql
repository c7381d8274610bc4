-- rapport: no transaction
drop index concurrently if exists import_rows_email_key;
create index concurrently import_rows_email_key on import_rows (organization_id, import_id, email_key)
  where email_key is not null;
