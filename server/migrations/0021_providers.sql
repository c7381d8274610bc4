-- Makes the name of a provider unique: the first letter is in lower case, as pushes have always stored it
-- (externalIdHubSpot becomes hubSpot), and spaces around an id are removed. Until now, the REST API stored any form, so
-- that a push and a REST client never found each other's records.
--
-- If the canonical name is taken, by another id of the same record or by the same id of another record, the id is
-- stored under the next free name (hubSpot2), where a person finds it.
create function canonical_provider(name text) returns text language sql immutable as $$
  select lower(left(name, 1)) || substr(name, 2)
$$;

create function canonical_external_ids(of_organization uuid, of_record uuid, of_team uuid, ids jsonb, held_by regclass, owner text)
returns jsonb language plpgsql as $$
declare
  result jsonb := '{}';
  entry record;
  base text;
  name text;
  attempt integer;
  is_taken boolean;
begin
  -- Names that are canonical already keep their ids.
  for entry in
    select key, regexp_replace(value, '^\s+|\s+$', '', 'g') as id from jsonb_each_text(ids)
    order by key <> canonical_provider(key), key collate "C"
  loop
    base := canonical_provider(entry.key);
    attempt := 1;
    loop
      name := case when attempt = 1 then base else left(base, 40 - length(attempt::text)) || attempt end;
      exit when result ->> name = entry.id;
      execute format(
        'select exists (select from %s held where organization_id = $1 and provider = $2 and value = $3 and %I <> $4 %s)',
        held_by, owner, case when of_team is null then '' else 'and team_id = $5' end)
      into is_taken using of_organization, name, entry.id, of_record, of_team;
      if not (result ? name) and not is_taken
        and (attempt = 1 or not exists (select from jsonb_object_keys(ids) other where canonical_provider(other) = name)) then
        result := result || jsonb_build_object(name, entry.id);
        exit;
      end if;
      attempt := attempt + 1;
    end loop;
  end loop;
  return result;
end
$$;

-- One record at a time, so that each takes into account the names used by those before it.
do $$
declare
  one record;
  ids jsonb;
begin
  for one in
    select organization_id, id, team_id, external_ids, deleted_at from contacts
    where external_ids <> '{}' and exists (
      select from jsonb_each_text(external_ids) where key ~ '^[A-Z]' or value ~ '^\s|\s$')
    order by organization_id, created_at, id
  loop
    ids := canonical_external_ids(one.organization_id, one.id, one.team_id, one.external_ids, 'contact_external_ids', 'contact_id');
    update contacts set external_ids = ids where organization_id = one.organization_id and id = one.id;
    delete from contact_external_ids where organization_id = one.organization_id and contact_id = one.id;
    insert into contact_external_ids (organization_id, team_id, provider, value, contact_id)
    select one.organization_id, one.team_id, key, value, one.id from jsonb_each_text(ids) where one.deleted_at is null;
  end loop;
  for one in
    select organization_id, id, external_ids, deleted_at from companies
    where external_ids <> '{}' and exists (
      select from jsonb_each_text(external_ids) where key ~ '^[A-Z]' or value ~ '^\s|\s$')
    order by organization_id, created_at, id
  loop
    ids := canonical_external_ids(one.organization_id, one.id, null, one.external_ids, 'company_external_ids', 'company_id');
    update companies set external_ids = ids where organization_id = one.organization_id and id = one.id;
    delete from company_external_ids where organization_id = one.organization_id and company_id = one.id;
    insert into company_external_ids (organization_id, provider, value, company_id)
    select one.organization_id, key, value, one.id from jsonb_each_text(ids) where one.deleted_at is null;
  end loop;
end
$$;

drop function canonical_external_ids(uuid, uuid, uuid, jsonb, regclass, text);
drop function canonical_provider(text);

-- No code undoes a row, so the state REVERTED is not needed.
create or replace function import_stats(of_organization uuid, of_import uuid) returns json language sql stable as $$
  with changes as (
    select status, sum(change) as total,
      coalesce(sum(change) filter (where change > 0 and counted_at > now() - interval '1 minute'), 0) as recent
    from import_row_counts where organization_id = of_organization and import_id = of_import group by status)
  select json_build_object(
    'counts', (
      select json_object_agg(known.status, coalesce(changes.total, 0) order by known.place)
      from unnest(array['PENDING', 'PROCESSING', 'RETRYING', 'PROCESSED', 'PARTIAL', 'DUPLICATE', 'INVALID', 'CONFLICT',
        'DEAD', 'CANCELLED']) with ordinality known (status, place) left join changes using (status)),
    -- Rows that came to an end within the last minute.
    'rowsPerSecond', (
      select round(coalesce(sum(recent), 0) / 60.0, 2) from changes
      where status in ('PROCESSED', 'PARTIAL', 'DUPLICATE', 'INVALID', 'CONFLICT', 'DEAD')),
    'oldestPendingAt', (
      select to_char(min(oldest), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') from unnest(array['PENDING', 'RETRYING', 'PROCESSING']) waiting (status)
      cross join lateral (
        select created_at as oldest from import_rows
        where organization_id = of_organization and import_id = of_import and import_rows.status = waiting.status
        order by created_at, id limit 1) first))
$$;
