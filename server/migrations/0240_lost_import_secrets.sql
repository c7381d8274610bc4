-- 0190 copied import_triggers before its trigger existed: what a process of the previous release wrote in the meantime is
-- missing from import_secrets. The lock waits for writers, so that nothing changes between the two statements.
lock table import_triggers in share mode;

insert into import_secrets (organization_id, import_id, hash, expires_at)
select organization_id, import_id, hash, expires_at from import_triggers
on conflict (organization_id, import_id, hash) do update set expires_at = excluded.expires_at
where import_secrets.expires_at is distinct from excluded.expires_at;

delete from import_secrets
where (organization_id, import_id, hash) in (
  select organization_id, import_id, hash from import_secrets
  except select organization_id, import_id, hash from import_triggers);
