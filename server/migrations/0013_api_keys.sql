-- API keys as records: read and changed over HTTP, good from chosen addresses alone, given a new text with an overlap.

alter table api_keys
  add column revision integer not null default 1,
  -- Networks and addresses that it is good from, such as 203.0.113.0/24; from everywhere when there are none.
  add column allowed_addresses text[] not null default '{}',
  -- Where it was used from last.
  add column last_used_address text;
create index api_keys_created on api_keys (organization_id, created_at, id);

-- Every change to what a key may do raises its version, whoever makes the change: no process relies on what it remembers.
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

-- The texts that a key had before it was rotated, good until they end. Looked up before the organization is known, so
-- the hash is the key.
create table api_key_previous_hashes (
  hash bytea primary key,
  organization_id uuid not null,
  api_key_id uuid not null,
  ends_at timestamptz(3) not null,
  foreign key (organization_id, api_key_id) references api_keys (organization_id, id) on delete cascade
);
create index api_key_previous_hashes_key on api_key_previous_hashes (organization_id, api_key_id);
create index api_key_previous_hashes_ends on api_key_previous_hashes (ends_at);
