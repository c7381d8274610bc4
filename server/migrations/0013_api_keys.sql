-- API keys as records: read and changed over HTTP, restricted to addresses, and rotated with an overlap.

alter table api_keys
  add column revision integer not null default 1,
  -- Networks and addresses from which the key can be used, such as 203.0.113.0/24. Empty: from anywhere.
  add column allowed_addresses text[] not null default '{}',
  -- The caller's address at the last use.
  add column last_used_address text;
create index api_keys_created on api_keys (organization_id, created_at, id);

-- Every change to a key's permissions increases its version, so that processes do not use an outdated copy.
create function raise_api_key_version() returns trigger language plpgsql as $$
begin
  if (new.hash, new.scopes, new.allowed_addresses, new.expires_at, new.revoked_at)
    is distinct from (old.hash, old.scopes, old.allowed_addresses, old.expires_at, old.revoked_at) then
    new.version := old.version + 1;
  end if;
  return new;
end $$;
create trigger api_keys_changed before update on api_keys
  for each row execute function raise_api_key_version();

-- Previous values of rotated keys, valid until they expire. Looked up before the organization is known, so the key is
-- the hash.
create table api_key_previous_hashes (
  hash bytea primary key,
  organization_id uuid not null,
  api_key_id uuid not null,
  ends_at timestamptz(3) not null,
  foreign key (organization_id, api_key_id) references api_keys (organization_id, id) on delete cascade
);
create index api_key_previous_hashes_key on api_key_previous_hashes (organization_id, api_key_id);
create index api_key_previous_hashes_ends on api_key_previous_hashes (ends_at);
