-- A transaction of its own: validating reads all records, but lets others write meanwhile.
alter table contacts validate constraint contacts_organization_id_company_id_fkey;
alter table deals validate constraint deals_organization_id_company_id_fkey;
