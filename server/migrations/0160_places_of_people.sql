-- Tables of people belong to the directory, the records of an organization to its own place: no foreign key crosses.
-- The code checks the references under a lock of the referenced row, and removes what refers to a purged team.
alter table team_members drop constraint team_members_organization_id_team_id_fkey;
alter table invitations drop constraint invitations_organization_id_team_id_fkey;
alter table teams drop constraint teams_organization_id_fkey;
alter table audit_events drop constraint audit_events_organization_id_fkey;

-- Whether the team is deleted: people do not see its records through it.
alter table team_members add column team_deleted boolean not null default false;

-- For processes of the previous release, which do not set it. A later release drops the trigger.
create function mark_team_members() returns trigger language plpgsql as $$
begin
  update team_members set team_deleted = new.deleted_at is not null
  where organization_id = new.organization_id and team_id = new.id
    and team_deleted <> (new.deleted_at is not null);
  return null;
end $$;
create trigger teams_mark_members after update of deleted_at on teams
  for each row when ((old.deleted_at is null) <> (new.deleted_at is null)) execute function mark_team_members();

update team_members set team_deleted = true from teams
where teams.organization_id = team_members.organization_id and teams.id = team_id and teams.deleted_at is not null;
