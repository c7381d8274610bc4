-- The code counts import rows itself and says so in its transactions. The triggers count for processes of the previous
-- release, which may still be running during an upgrade.
create or replace function count_import_rows() returns trigger language plpgsql as $$
begin
  if current_setting('rapport.counts_import_rows', true) = 'on' then
    return null;
  end if;
  if tg_op = 'INSERT' then
    insert into import_row_counts (organization_id, import_id, status, change)
    select organization_id, import_id, status, count(*) from after_rows group by 1, 2, 3;
  elsif tg_op = 'DELETE' then
    insert into import_row_counts (organization_id, import_id, status, change)
    select organization_id, import_id, status, -count(*) from before_rows
    -- Not of an import that is being deleted with its rows.
    where exists (select from imports where (imports.organization_id, imports.id) = (before_rows.organization_id, import_id))
    group by 1, 2, 3;
  else
    insert into import_row_counts (organization_id, import_id, status, change)
    select organization_id, import_id, status, sum(change) from (
      select organization_id, import_id, status, 1 as change from after_rows
      union all
      select organization_id, import_id, status, -1 from before_rows) changes
    group by 1, 2, 3 having sum(change) <> 0;
  end if;
  return null;
end $$;
