-- The lookup of trigger URLs is separate from the data of organizations.
alter table import_triggers drop constraint import_triggers_organization_id_import_id_fkey;
