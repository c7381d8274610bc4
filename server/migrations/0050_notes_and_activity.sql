-- Notes on companies and deals, and the last activity of contacts, companies and deals.

alter table notes
  alter column contact_id drop not null,
  add column company_id uuid,
  add column deal_id uuid,
  -- The next migration validates them, without the lock of this one.
  add constraint notes_one_parent check (num_nonnulls(contact_id, company_id, deal_id) = 1) not valid,
  add constraint notes_company_id_fkey foreign key (organization_id, company_id)
    references companies (organization_id, id) on delete cascade not valid,
  add constraint notes_deal_id_fkey foreign key (organization_id, deal_id)
    references deals (organization_id, id) on delete cascade not valid;

-- Of two transactions, the one that began later can be the first to get the lock of a record.
create function retain_last_activity() returns trigger language plpgsql as $$
begin
  new.last_activity_at := old.last_activity_at;
  return new;
end
$$;
create trigger contacts_last_activity before update on contacts for each row
  when (new.last_activity_at < old.last_activity_at) execute function retain_last_activity();
create trigger companies_last_activity before update on companies for each row
  when (new.last_activity_at < old.last_activity_at) execute function retain_last_activity();
create trigger deals_last_activity before update on deals for each row
  when (new.last_activity_at < old.last_activity_at) execute function retain_last_activity();
