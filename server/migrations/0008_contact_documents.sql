-- Contacts are read far more often than written, and most of what a page of them cost was composing the same JSON again:
-- PostgreSQL looks up the type of each member of each record each time. So the text is kept with the record, without
-- what its company decides (docs/decisions/0010-rendered-contacts.md).

-- Concatenated, because that takes two thirds of what row_to_json takes; plpgsql, because a function in SQL would be
-- planned again by each statement. A test compares it with the declaration of the resource.
create function contact_document(
  id uuid, email text, first_name text, last_name text, phone text, created_at timestamptz, updated_at timestamptz,
  last_activity_at timestamptz, tags text[], status text, email_opt_out boolean, custom_properties jsonb, name text,
  nickname text, bio text, avatar text, website text, location text, time_zone text, city text, state text,
  country_code text, latitude double precision, longitude double precision, employment_title text,
  employment_seniority text, facebook_handle text, github_handle text, instagram_handle text, linkedin_handle text,
  twitter_handle text, external_ids jsonb, root_contact_id uuid, team_id uuid, owner_id uuid, blocked_at timestamptz
) returns text language plpgsql immutable parallel safe as $$
begin
  return '{' ||
    '"id":"con_' || replace(id::text, '-', '') || '"' || ',' ||
    '"email":' || coalesce(to_json(email)::text, 'null') || ',' ||
    '"firstName":' || coalesce(to_json(first_name)::text, 'null') || ',' ||
    '"lastName":' || coalesce(to_json(last_name)::text, 'null') || ',' ||
    '"phone":' || coalesce(to_json(phone)::text, 'null') || ',' ||
    '"createdAt":"' || to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"' || ',' ||
    '"updatedAt":"' || to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"' || ',' ||
    '"lastActivityAt":' || coalesce('"' || to_char(last_activity_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null') || ',' ||
    '"tags":' || case tags when '{}' then '[]' else array_to_json(tags)::text end || ',' ||
    '"status":' || to_json(status)::text || ',' ||
    '"emailOptOut":' || case when email_opt_out then 'true' else 'false' end || ',' ||
    '"customProperties":' || custom_properties::text || ',' ||
    '"name":' || coalesce(to_json(name)::text, 'null') || ',' ||
    '"nickname":' || coalesce(to_json(nickname)::text, 'null') || ',' ||
    '"bio":' || coalesce(to_json(bio)::text, 'null') || ',' ||
    '"avatar":' || coalesce(to_json(avatar)::text, 'null') || ',' ||
    '"website":' || coalesce(to_json(website)::text, 'null') || ',' ||
    '"location":' || coalesce(to_json(location)::text, 'null') || ',' ||
    '"timeZone":' || coalesce(to_json(time_zone)::text, 'null') || ',' ||
    '"city":' || coalesce(to_json(city)::text, 'null') || ',' ||
    '"state":' || coalesce(to_json(state)::text, 'null') || ',' ||
    '"countryCode":' || coalesce(to_json(country_code)::text, 'null') || ',' ||
    '"latitude":' || coalesce(latitude::text, 'null') || ',' ||
    '"longitude":' || coalesce(longitude::text, 'null') || ',' ||
    '"employmentTitle":' || coalesce(to_json(employment_title)::text, 'null') || ',' ||
    '"employmentSeniority":' || coalesce(to_json(employment_seniority)::text, 'null') || ',' ||
    '"facebookHandle":' || coalesce(to_json(facebook_handle)::text, 'null') || ',' ||
    '"githubHandle":' || coalesce(to_json(github_handle)::text, 'null') || ',' ||
    '"instagramHandle":' || coalesce(to_json(instagram_handle)::text, 'null') || ',' ||
    '"linkedinHandle":' || coalesce(to_json(linkedin_handle)::text, 'null') || ',' ||
    '"twitterHandle":' || coalesce(to_json(twitter_handle)::text, 'null') || ',' ||
    '"externalIds":' || external_ids::text || ',' ||
    '"rootContactId":"rcn_' || replace(root_contact_id::text, '-', '') || '"' || ',' ||
    '"teamId":"tea_' || replace(team_id::text, '-', '') || '"' || ',' ||
    '"ownerId":' || coalesce('"usr_' || replace(owner_id::text, '-', '') || '"', 'null') || ',' ||
    '"blockedAt":' || coalesce('"' || to_char(blocked_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null');
end
$$;

alter table contacts add column document text not null generated always as (
  contact_document(
    id, email, first_name, last_name, phone, created_at, updated_at, last_activity_at, tags, status, email_opt_out,
    custom_properties, name, nickname, bio, avatar, website, location, time_zone, city, state, country_code,
    latitude, longitude, employment_title, employment_seniority, facebook_handle, github_handle, instagram_handle,
    linkedin_handle, twitter_handle, external_ids, root_contact_id, team_id, owner_id, blocked_at)
) stored;
