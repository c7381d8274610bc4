-- rapport: no transaction
-- Suggestions that made or changed a contact, which erasing it deletes. Each statement can be repeated.

drop index concurrently if exists suggestions_result_contact;
create index concurrently suggestions_result_contact on suggestions (organization_id, result_contact_id)
  where result_contact_id is not null;
