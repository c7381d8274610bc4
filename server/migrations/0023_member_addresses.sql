-- The key by which addresses are compared, so that members are found by an address in any spelling.
create or replace view member_people as
  select members.organization_id, members.user_id as id, users.name, users.email, null::timestamptz(3) as deleted_at,
    users.email_key
  from members join users on users.id = members.user_id;
