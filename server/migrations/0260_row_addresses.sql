-- The address of a pushed contact, so that a row can be found by it. Rows of earlier pushes have none.
alter table import_rows add column email text;

-- Sorted by code points, so that its index finds the beginning of an address.
alter table import_rows add column email_key text collate "C";
