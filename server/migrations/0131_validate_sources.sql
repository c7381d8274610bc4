-- Reads all rows, while others can write.
alter table contact_changes validate constraint contact_changes_source_check;
