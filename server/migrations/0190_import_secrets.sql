-- The hashes of the secret URLs of imports, with the records of their organization: a push is checked and stored there in
-- one statement. import_triggers remains for finding the organization of an import.
create table import_secrets (
  organization_id uuid not null,
  import_id uuid not null,
  hash bytea not null,
  expires_at timestamptz(3),
  primary key (organization_id, import_id, hash)
);

create index import_secrets_ending on import_secrets (expires_at) where expires_at is not null;

insert into import_secrets (organization_id, import_id, hash, expires_at)
select organization_id, import_id, hash, expires_at from import_triggers;

-- The code writes both tables. The trigger copies what processes of the previous release write, which may still be
-- running during an upgrade.
create function copy_import_triggers() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    delete from import_secrets
    where organization_id = old.organization_id and import_id = old.import_id and hash = old.hash;
  else
    insert into import_secrets (organization_id, import_id, hash, expires_at)
    values (new.organization_id, new.import_id, new.hash, new.expires_at)
    on conflict (organization_id, import_id, hash) do update set expires_at = excluded.expires_at;
  end if;
  return null;
end $$;

create trigger import_triggers_copied after insert or delete or update on import_triggers
for each row execute function copy_import_triggers();
