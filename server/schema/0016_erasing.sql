-- rapport: no transaction
-- Erasing a person. Each statement can be repeated.

-- `erased_at`: since when a contact is to be erased. It is deleted, and maintenance finishes what the request did not.
alter table contacts add column if not exists erased_at timestamptz(3);

-- The record that a response shows.
alter table idempotency_answers add column if not exists record_id uuid;

drop index concurrently if exists idempotency_answers_record;
create index concurrently idempotency_answers_record on idempotency_answers (organization_id, record_id)
  where record_id is not null;

-- Test events belong to no event of the feed.
drop index concurrently if exists webhook_deliveries_tests;
create index concurrently webhook_deliveries_tests on webhook_deliveries (organization_id, record_id) where is_test;
