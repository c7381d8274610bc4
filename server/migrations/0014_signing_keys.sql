-- A signing key is published before it signs, and stays published until the last token that it signed has expired.
alter table signing_keys
  drop constraint signing_keys_status_check,
  add constraint signing_keys_status_check check (status in ('next', 'active', 'retired')),
  -- A key that signs no more keeps nothing to sign with.
  alter column private_key_encrypted drop not null,
  -- Since when it signs, and since when it does not.
  add column active_since timestamptz(3),
  add column retired_at timestamptz(3);
update signing_keys set active_since = created_at;
update signing_keys set retired_at = now(), private_key_encrypted = null where status = 'retired';
alter table signing_keys
  add constraint signing_keys_private_half check ((private_key_encrypted is null) = (status = 'retired')),
  add constraint signing_keys_retired_at check ((retired_at is not null) = (status = 'retired'));
create unique index signing_keys_one_next on signing_keys (status) where status = 'next';
