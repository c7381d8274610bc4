-- Further addresses and numbers of contacts.

-- What `email` and `phone` do not say, in order: null if that is nothing. The primary entry has no address here, so that it
-- cannot differ from `email`. A further email address has its key, as `email_key` is that of `email`.
alter table contacts
  add column emails jsonb,
  add column phones jsonb;

-- True if the address is, or was, a further one of a contact: a new contact with it as the primary one then looks in
-- `contact_emails` too.
alter table root_contacts add column is_further boolean not null default false;

-- Makes further addresses unique, and finds them. Contains those of contacts that are not deleted. The primary ones are in
-- `contacts_email_unique` only, so that a contact with one address costs nothing more.
create table contact_emails (
  organization_id uuid not null,
  email_key text not null,
  team_id uuid not null,
  contact_id uuid not null,
  primary key (organization_id, email_key, team_id),
  foreign key (organization_id, contact_id) references contacts (organization_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
create index contact_emails_contact on contact_emails (organization_id, contact_id);

-- The lists as JSON text, and what else reads them. plpgsql, because each statement plans a query in a function of the
-- language SQL again.
create function email_list(email text, entries jsonb) returns text language plpgsql immutable parallel safe as $$
begin
  if entries is null then
    return case when email is null then '[]'
      else '[{"address":' || to_json(email)::text || ',"kind":null,"primary":true,"bouncedAt":null}]' end;
  end if;
  return (
    select '[' || coalesce(string_agg(
      '{"address":' || to_json(coalesce(entry ->> 'address', email))::text ||
      ',"kind":' || coalesce((entry -> 'kind')::text, 'null') || ',"primary":' || coalesce(entry ->> 'primary', 'false') ||
      ',"bouncedAt":' || coalesce((entry -> 'bouncedAt')::text, 'null') || '}', ',' order by number), '') || ']'
    from jsonb_array_elements(entries) with ordinality as item(entry, number)
    where coalesce(entry ->> 'address', email) is not null);
end
$$;

create function phone_list(phone text, entries jsonb) returns text language plpgsql immutable parallel safe as $$
begin
  if entries is null then
    return case when phone is null then '[]' else '[{"number":' || to_json(phone)::text || ',"kind":null,"primary":true}]' end;
  end if;
  return (
    select '[' || coalesce(string_agg(
      '{"number":' || to_json(coalesce(entry ->> 'number', phone))::text ||
      ',"kind":' || coalesce((entry -> 'kind')::text, 'null') || ',"primary":' || coalesce(entry ->> 'primary', 'false') ||
      '}', ',' order by number), '') || ']'
    from jsonb_array_elements(entries) with ordinality as item(entry, number)
    where coalesce(entry ->> 'number', phone) is not null);
end
$$;

create function address_texts(address text, entries jsonb, name text) returns text[]
language plpgsql immutable parallel safe as $$
begin
  if entries is null then
    return case when address is null then '{}' else array[address] end;
  end if;
  return array(select coalesce(entry ->> name, address) from jsonb_array_elements(entries) entry
    where coalesce(entry ->> name, address) is not null);
end
$$;

-- What `search` does not contain: the further addresses and numbers, folded, on lines of their own. Not plpgsql, which would
-- look for fold() by a search path: an index is also built and analysed without one, such as by pg_restore.
create function further_text(emails jsonb, phones jsonb) returns text language sql immutable parallel safe
  return fold((
    select coalesce(string_agg(coalesce(entry ->> 'address', entry ->> 'number'), E'\n'), '')
    from jsonb_array_elements(coalesce(emails, '[]') || coalesce(phones, '[]')) entry));

create or replace function contact_document(record contacts) returns text language plpgsql immutable parallel safe as $$
begin
  return '{' ||
    '"id":"con_' || replace(record.id::text, '-', '') || '"' || ',' ||
    '"email":' || coalesce(to_json(record.email)::text, 'null') || ',' ||
    '"emails":' || email_list(record.email, record.emails) || ',' ||
    '"firstName":' || coalesce(to_json(record.first_name)::text, 'null') || ',' ||
    '"lastName":' || coalesce(to_json(record.last_name)::text, 'null') || ',' ||
    '"phone":' || coalesce(to_json(record.phone)::text, 'null') || ',' ||
    '"phones":' || phone_list(record.phone, record.phones) || ',' ||
    '"createdAt":"' || to_char(record.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"' || ',' ||
    '"updatedAt":"' || to_char(record.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"' || ',' ||
    '"lastActivityAt":' || coalesce('"' || to_char(record.last_activity_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null') || ',' ||
    '"tags":' || case record.tags when '{}' then '[]' else array_to_json(record.tags)::text end || ',' ||
    '"status":' || to_json(record.status)::text || ',' ||
    '"emailOptOut":' || case when record.email_opt_out then 'true' else 'false' end || ',' ||
    '"customProperties":' || record.custom_properties::text || ',' ||
    '"name":' || coalesce(to_json(record.name)::text, 'null') || ',' ||
    '"nickname":' || coalesce(to_json(record.nickname)::text, 'null') || ',' ||
    '"bio":' || coalesce(to_json(record.bio)::text, 'null') || ',' ||
    '"avatar":' || coalesce(to_json(record.avatar)::text, 'null') || ',' ||
    '"website":' || coalesce(to_json(record.website)::text, 'null') || ',' ||
    '"location":' || coalesce(to_json(record.location)::text, 'null') || ',' ||
    '"timeZone":' || coalesce(to_json(record.time_zone)::text, 'null') || ',' ||
    '"city":' || coalesce(to_json(record.city)::text, 'null') || ',' ||
    '"state":' || coalesce(to_json(record.state)::text, 'null') || ',' ||
    '"countryCode":' || coalesce(to_json(record.country_code)::text, 'null') || ',' ||
    '"latitude":' || coalesce(record.latitude::text, 'null') || ',' ||
    '"longitude":' || coalesce(record.longitude::text, 'null') || ',' ||
    '"employmentTitle":' || coalesce(to_json(record.employment_title)::text, 'null') || ',' ||
    '"employmentSeniority":' || coalesce(to_json(record.employment_seniority)::text, 'null') || ',' ||
    '"facebookHandle":' || coalesce(to_json(record.facebook_handle)::text, 'null') || ',' ||
    '"githubHandle":' || coalesce(to_json(record.github_handle)::text, 'null') || ',' ||
    '"instagramHandle":' || coalesce(to_json(record.instagram_handle)::text, 'null') || ',' ||
    '"linkedinHandle":' || coalesce(to_json(record.linkedin_handle)::text, 'null') || ',' ||
    '"twitterHandle":' || coalesce(to_json(record.twitter_handle)::text, 'null') || ',' ||
    '"externalIds":' || record.external_ids::text || ',' ||
    '"rootContactId":"rcn_' || replace(record.root_contact_id::text, '-', '') || '"' || ',' ||
    '"teamId":"tea_' || replace(record.team_id::text, '-', '') || '"' || ',' ||
    '"ownerId":' || coalesce('"usr_' || replace(record.owner_id::text, '-', '') || '"', 'null') || ',' ||
    '"blockedAt":' || coalesce('"' || to_char(record.blocked_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null') || ',' ||
    '"source":' || coalesce(to_json(record.source)::text, 'null') || ',' ||
    '"importId":' || coalesce('"imp_' || replace(record.import_id::text, '-', '') || '"', 'null');
end
$$;
comment on function contact_document(contacts) is 'version 2';

-- For processes of release 0.1.0, which know only `email`: they must not give a contact an address that is a further one of
-- another, and the further addresses follow what they delete, restore and move. They do not lock the addresses that they
-- restore.
create function follow_contact_addresses() returns trigger language plpgsql as $$
declare
  holder uuid;
begin
  if tg_op = 'UPDATE' and new.emails is not null
    and (old.deleted_at is distinct from new.deleted_at or old.team_id <> new.team_id) then
    delete from contact_emails where organization_id = new.organization_id and contact_id = new.id;
    if new.deleted_at is null then
      insert into contact_emails (organization_id, email_key, team_id, contact_id)
      select new.organization_id, entry ->> 'key', new.team_id, new.id
      from jsonb_array_elements(new.emails) entry where entry -> 'key' is not null order by entry ->> 'key'
      on conflict do nothing;
      select coalesce(held.contact_id, other.id) into holder
      from jsonb_array_elements(new.emails) entry
      left join contact_emails held on held.organization_id = new.organization_id
        and held.email_key = entry ->> 'key' and held.team_id = new.team_id and held.contact_id <> new.id
      left join contacts other on other.organization_id = new.organization_id and other.deleted_at is null
        and other.email_key = entry ->> 'key' and other.team_id = new.team_id and other.id <> new.id
      where coalesce(held.contact_id, other.id) is not null limit 1;
      if found then
        raise unique_violation using constraint = 'contacts_email_unique', column = 'emails', detail = holder,
          message = 'a further address is taken';
      end if;
    end if;
  end if;
  select held.contact_id into holder from contact_emails held
  where held.organization_id = new.organization_id and held.email_key = new.email_key and held.team_id = new.team_id
    and held.contact_id <> new.id;
  if found and new.deleted_at is null then
    raise unique_violation using constraint = 'contacts_email_unique', column = 'email', detail = holder,
      message = 'the address is a further one';
  end if;
  return null;
end
$$;
create trigger contacts_follow_new after insert on contacts for each row when (new.email_key is not null)
execute function follow_contact_addresses();
create trigger contacts_follow_change after update of email_key, team_id, deleted_at on contacts for each row
when (old.email_key is distinct from new.email_key or old.team_id <> new.team_id
  or old.deleted_at is distinct from new.deleted_at)
execute function follow_contact_addresses();

-- Their maintenance must not delete the row of a further address, which says that there is one.
create function keep_further_root() returns trigger language plpgsql as $$
begin
  if exists (select from contact_emails held
    where held.organization_id = old.organization_id and held.email_key = old.email_key) then
    return null;
  end if;
  return old;
end
$$;
create trigger root_contacts_keep before delete on root_contacts for each row when (old.is_further)
execute function keep_further_root();
