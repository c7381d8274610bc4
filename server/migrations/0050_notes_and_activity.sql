-- Notes on companies and deals.

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
