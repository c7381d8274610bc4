-- Imports look each company up and read it whole, and most of what that cost was composing its JSON: 25 µs of 40 for each
-- company. Now the text is kept with the record, as it is with contacts (docs/decisions/0010-rendered-contacts.md).

-- A test compares it with the declaration of the resource.
create function company_document(
  id uuid, name text, nickname text, bio text, subtitle text, avatar text, website text, domain text, location text,
  time_zone text, facebook_handle text, github_handle text, instagram_handle text, linkedin_handle text,
  twitter_handle text, annual_revenue numeric, employees_count integer, founded_year integer, funding_stage text,
  funding_total numeric, retail_locations_count integer, ticker text, industries text[], languages text[],
  stack text[], tags text[], external_ids jsonb, custom_properties jsonb, last_activity_at timestamptz,
  created_at timestamptz, updated_at timestamptz
) returns text language plpgsql immutable parallel safe as $$
begin
  return '{' ||
    '"id":"com_' || replace(id::text, '-', '') || '"' || ',' ||
    '"name":' || to_json(name)::text || ',' ||
    '"nickname":' || coalesce(to_json(nickname)::text, 'null') || ',' ||
    '"bio":' || coalesce(to_json(bio)::text, 'null') || ',' ||
    '"subtitle":' || coalesce(to_json(subtitle)::text, 'null') || ',' ||
    '"avatar":' || coalesce(to_json(avatar)::text, 'null') || ',' ||
    '"website":' || coalesce(to_json(website)::text, 'null') || ',' ||
    '"domain":' || coalesce(to_json(domain)::text, 'null') || ',' ||
    '"location":' || coalesce(to_json(location)::text, 'null') || ',' ||
    '"timeZone":' || coalesce(to_json(time_zone)::text, 'null') || ',' ||
    '"facebookHandle":' || coalesce(to_json(facebook_handle)::text, 'null') || ',' ||
    '"githubHandle":' || coalesce(to_json(github_handle)::text, 'null') || ',' ||
    '"instagramHandle":' || coalesce(to_json(instagram_handle)::text, 'null') || ',' ||
    '"linkedinHandle":' || coalesce(to_json(linkedin_handle)::text, 'null') || ',' ||
    '"twitterHandle":' || coalesce(to_json(twitter_handle)::text, 'null') || ',' ||
    '"annualRevenue":' || coalesce('"' || annual_revenue::text || '"', 'null') || ',' ||
    '"employeesCount":' || coalesce(employees_count::text, 'null') || ',' ||
    '"foundedYear":' || coalesce(founded_year::text, 'null') || ',' ||
    '"fundingStage":' || coalesce(to_json(funding_stage)::text, 'null') || ',' ||
    '"fundingTotal":' || coalesce('"' || funding_total::text || '"', 'null') || ',' ||
    '"retailLocationsCount":' || coalesce(retail_locations_count::text, 'null') || ',' ||
    '"ticker":' || coalesce(to_json(ticker)::text, 'null') || ',' ||
    '"industries":' || case industries when '{}' then '[]' else array_to_json(industries)::text end || ',' ||
    '"languages":' || case languages when '{}' then '[]' else array_to_json(languages)::text end || ',' ||
    '"stack":' || case stack when '{}' then '[]' else array_to_json(stack)::text end || ',' ||
    '"tags":' || case tags when '{}' then '[]' else array_to_json(tags)::text end || ',' ||
    '"externalIds":' || external_ids::text || ',' ||
    '"customProperties":' || custom_properties::text || ',' ||
    '"lastActivityAt":' || coalesce('"' || to_char(last_activity_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null') || ',' ||
    '"createdAt":"' || to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"' || ',' ||
    '"updatedAt":"' || to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"';
end
$$;

alter table companies add column document text not null generated always as (
  company_document(
    id, name, nickname, bio, subtitle, avatar, website, domain, location, time_zone, facebook_handle, github_handle,
    instagram_handle, linkedin_handle, twitter_handle, annual_revenue, employees_count, founded_year, funding_stage,
    funding_total, retail_locations_count, ticker, industries, languages, stack, tags, external_ids,
    custom_properties, last_activity_at, created_at, updated_at)
) stored;

-- Nobody asks for what is in these texts, so there is no need to know how it is spread: looking at 30,000 of them took a
-- good part of the time of each analyze. An analyze that passes over a column leaves its statistics as they were, with a
-- hundred whole contacts in them that may long be deleted; the same type once more takes them away, and rewrites nothing.
alter table companies alter column document set statistics 0;
alter table contacts alter column document set statistics 0;
alter table contacts alter column document type text;

-- One index for both ways to look for the jobs of a contact: those that it shows, in their order, and the deleted ones too.
drop index employments_of_contact;
drop index employments_contact;
create index employments_contact on employments (organization_id, contact_id, created_at, id);
