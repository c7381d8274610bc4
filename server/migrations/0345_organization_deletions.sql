-- An organization that is being deleted refuses access until then; maintenance deletes it afterwards.
alter table organizations add column deletes_at timestamptz(3);

-- Meanwhile its imports accept no pushes, whatever state they have.
alter table imports add column is_suspended boolean not null default false;

-- Sent by the operator: valid without a member who may send it, because the organization may have no owner who can.
alter table invitations add column by_command boolean not null default false;

-- Expired events, and those of an organization that is deleted, are deleted by maintenance, which says so.
create or replace function refuse_audit_delete() returns trigger language plpgsql as $$
begin
  if coalesce(current_setting('rapport.deletes_audit_events', true), '') <> 'on'
    and exists (select from organizations where id = old.organization_id) then
    raise exception 'The audit log is append-only.' using errcode = 'integrity_constraint_violation';
  end if;
  return old;
end $$;
