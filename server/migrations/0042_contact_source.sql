-- Where a contact comes from. Adding the columns rewrites nothing: for existing contacts, it is unknown. The import has no
-- foreign key, because a contact names it longer than deleted imports are stored.
alter table contacts add column source text;

alter table contacts add column import_id uuid;

create or replace function contact_document(record contacts) returns text language plpgsql immutable parallel safe as $$
begin
  return '{' ||
    '"id":"con_' || replace(record.id::text, '-', '') || '"' || ',' ||
    '"email":' || coalesce(to_json(record.email)::text, 'null') || ',' ||
    '"firstName":' || coalesce(to_json(record.first_name)::text, 'null') || ',' ||
    '"lastName":' || coalesce(to_json(record.last_name)::text, 'null') || ',' ||
    '"phone":' || coalesce(to_json(record.phone)::text, 'null') || ',' ||
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
