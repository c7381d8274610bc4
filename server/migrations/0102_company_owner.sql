alter table companies add column owner_id uuid;

create or replace function company_document(record companies) returns text language plpgsql immutable parallel safe as $$
begin
  return '{' ||
    '"id":"com_' || replace(record.id::text, '-', '') || '"' || ',' ||
    '"name":' || to_json(record.name)::text || ',' ||
    '"nickname":' || coalesce(to_json(record.nickname)::text, 'null') || ',' ||
    '"bio":' || coalesce(to_json(record.bio)::text, 'null') || ',' ||
    '"subtitle":' || coalesce(to_json(record.subtitle)::text, 'null') || ',' ||
    '"avatar":' || coalesce(to_json(record.avatar)::text, 'null') || ',' ||
    '"website":' || coalesce(to_json(record.website)::text, 'null') || ',' ||
    '"domain":' || coalesce(to_json(record.domain)::text, 'null') || ',' ||
    '"location":' || coalesce(to_json(record.location)::text, 'null') || ',' ||
    '"timeZone":' || coalesce(to_json(record.time_zone)::text, 'null') || ',' ||
    '"facebookHandle":' || coalesce(to_json(record.facebook_handle)::text, 'null') || ',' ||
    '"githubHandle":' || coalesce(to_json(record.github_handle)::text, 'null') || ',' ||
    '"instagramHandle":' || coalesce(to_json(record.instagram_handle)::text, 'null') || ',' ||
    '"linkedinHandle":' || coalesce(to_json(record.linkedin_handle)::text, 'null') || ',' ||
    '"twitterHandle":' || coalesce(to_json(record.twitter_handle)::text, 'null') || ',' ||
    '"annualRevenue":' || coalesce('"' || record.annual_revenue::text || '"', 'null') || ',' ||
    '"employeesCount":' || coalesce(record.employees_count::text, 'null') || ',' ||
    '"foundedYear":' || coalesce(record.founded_year::text, 'null') || ',' ||
    '"fundingStage":' || coalesce(to_json(record.funding_stage)::text, 'null') || ',' ||
    '"fundingTotal":' || coalesce('"' || record.funding_total::text || '"', 'null') || ',' ||
    '"retailLocationsCount":' || coalesce(record.retail_locations_count::text, 'null') || ',' ||
    '"ticker":' || coalesce(to_json(record.ticker)::text, 'null') || ',' ||
    '"industries":' || case record.industries when '{}' then '[]' else array_to_json(record.industries)::text end || ',' ||
    '"languages":' || case record.languages when '{}' then '[]' else array_to_json(record.languages)::text end || ',' ||
    '"stack":' || case record.stack when '{}' then '[]' else array_to_json(record.stack)::text end || ',' ||
    '"tags":' || case record.tags when '{}' then '[]' else array_to_json(record.tags)::text end || ',' ||
    '"externalIds":' || record.external_ids::text || ',' ||
    '"customProperties":' || record.custom_properties::text || ',' ||
    '"ownerId":' || coalesce('"usr_' || replace(record.owner_id::text, '-', '') || '"', 'null') || ',' ||
    '"lastActivityAt":' || coalesce('"' || to_char(record.last_activity_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null') || ',' ||
    '"createdAt":"' || to_char(record.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"' || ',' ||
    '"updatedAt":"' || to_char(record.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"';
end
$$;
comment on function company_document(companies) is 'version 2';
