-- A link verifies an address only if it was handed to a mail server and no owner has read it.

alter table one_time_tokens
  -- A mail server received the link, and no owner has read the mail.
  add column is_mailed boolean not null default false;

alter table mails
  -- SHA-256 of the one-time token in the body: a person who reads the body knows the link.
  add column token_hash bytea;

-- Earlier versions also verified addresses by links that owners had read in the outbox, and did not store the
-- difference. Every address must therefore be verified again. Until then, single sign-on cannot join these accounts.
-- Linked identities still work.
update users set verified_at = null where verified_at is not null;
