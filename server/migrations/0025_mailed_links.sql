-- Only a link that was handed to a mail server, and read by nobody else, verifies an address.

alter table one_time_tokens
  -- A mail server was given the link, and no owner has read the mail.
  add column is_mailed boolean not null default false;

alter table mails
  -- SHA-256 of the one-time token in the body: whoever reads the body knows the link.
  add column token_hash bytea;

-- Earlier releases also verified addresses by links that owners had read in the outbox, and stored nothing that tells the
-- two apart. So every address has to be verified again. Until then single sign-on does not join its account; identities
-- that are linked already still work.
update users set verified_at = null where verified_at is not null;
