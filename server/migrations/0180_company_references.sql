-- Citus does not support `on delete set null (column)`. Maintenance releases the contacts and deals of a company before it
-- purges it, so the foreign key needs no action.
alter table contacts drop constraint contacts_organization_id_company_id_fkey,
  add constraint contacts_organization_id_company_id_fkey
    foreign key (organization_id, company_id) references companies (organization_id, id) not valid;
alter table deals drop constraint deals_organization_id_company_id_fkey,
  add constraint deals_organization_id_company_id_fkey
    foreign key (organization_id, company_id) references companies (organization_id, id) not valid;
