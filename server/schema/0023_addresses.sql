-- Postal addresses of contacts and companies, and their form in one line.

alter table contacts
  add column street text,
  add column postal_code text;
alter table companies
  add column street text,
  add column postal_code text,
  add column city text,
  add column state text,
  add column country_code text;

-- The English name of a country, from the Unicode CLDR, as browsers have it; no name has a comma. Addresses say USA.
create function country_name(code text) returns text language plpgsql immutable parallel safe as $$
begin
  return coalesce('{
    "AD": "Andorra", "AE": "United Arab Emirates", "AF": "Afghanistan", "AG": "Antigua & Barbuda", "AI": "Anguilla",
    "AL": "Albania", "AM": "Armenia", "AO": "Angola", "AQ": "Antarctica", "AR": "Argentina", "AS": "American Samoa",
    "AT": "Austria", "AU": "Australia", "AW": "Aruba", "AX": "Åland Islands", "AZ": "Azerbaijan",
    "BA": "Bosnia & Herzegovina", "BB": "Barbados", "BD": "Bangladesh", "BE": "Belgium", "BF": "Burkina Faso",
    "BG": "Bulgaria", "BH": "Bahrain", "BI": "Burundi", "BJ": "Benin", "BL": "St. Barthélemy", "BM": "Bermuda",
    "BN": "Brunei", "BO": "Bolivia", "BQ": "Caribbean Netherlands", "BR": "Brazil", "BS": "Bahamas", "BT": "Bhutan",
    "BV": "Bouvet Island", "BW": "Botswana", "BY": "Belarus", "BZ": "Belize", "CA": "Canada",
    "CC": "Cocos (Keeling) Islands", "CD": "Congo - Kinshasa", "CF": "Central African Republic",
    "CG": "Congo - Brazzaville", "CH": "Switzerland", "CI": "Côte d’Ivoire", "CK": "Cook Islands", "CL": "Chile",
    "CM": "Cameroon", "CN": "China", "CO": "Colombia", "CR": "Costa Rica", "CU": "Cuba", "CV": "Cape Verde",
    "CW": "Curaçao", "CX": "Christmas Island", "CY": "Cyprus", "CZ": "Czechia", "DE": "Germany", "DJ": "Djibouti",
    "DK": "Denmark", "DM": "Dominica", "DO": "Dominican Republic", "DZ": "Algeria", "EC": "Ecuador", "EE": "Estonia",
    "EG": "Egypt", "EH": "Western Sahara", "ER": "Eritrea", "ES": "Spain", "ET": "Ethiopia", "FI": "Finland",
    "FJ": "Fiji", "FK": "Falkland Islands", "FM": "Micronesia", "FO": "Faroe Islands", "FR": "France", "GA": "Gabon",
    "GB": "United Kingdom", "GD": "Grenada", "GE": "Georgia", "GF": "French Guiana", "GG": "Guernsey", "GH": "Ghana",
    "GI": "Gibraltar", "GL": "Greenland", "GM": "Gambia", "GN": "Guinea", "GP": "Guadeloupe",
    "GQ": "Equatorial Guinea", "GR": "Greece", "GS": "South Georgia & South Sandwich Islands", "GT": "Guatemala",
    "GU": "Guam", "GW": "Guinea-Bissau", "GY": "Guyana", "HK": "Hong Kong SAR China",
    "HM": "Heard & McDonald Islands", "HN": "Honduras", "HR": "Croatia", "HT": "Haiti", "HU": "Hungary",
    "ID": "Indonesia", "IE": "Ireland", "IL": "Israel", "IM": "Isle of Man", "IN": "India",
    "IO": "British Indian Ocean Territory", "IQ": "Iraq", "IR": "Iran", "IS": "Iceland", "IT": "Italy",
    "JE": "Jersey", "JM": "Jamaica", "JO": "Jordan", "JP": "Japan", "KE": "Kenya", "KG": "Kyrgyzstan",
    "KH": "Cambodia", "KI": "Kiribati", "KM": "Comoros", "KN": "St. Kitts & Nevis", "KP": "North Korea",
    "KR": "South Korea", "KW": "Kuwait", "KY": "Cayman Islands", "KZ": "Kazakhstan", "LA": "Laos", "LB": "Lebanon",
    "LC": "St. Lucia", "LI": "Liechtenstein", "LK": "Sri Lanka", "LR": "Liberia", "LS": "Lesotho", "LT": "Lithuania",
    "LU": "Luxembourg", "LV": "Latvia", "LY": "Libya", "MA": "Morocco", "MC": "Monaco", "MD": "Moldova",
    "ME": "Montenegro", "MF": "St. Martin", "MG": "Madagascar", "MH": "Marshall Islands", "MK": "North Macedonia",
    "ML": "Mali", "MM": "Myanmar (Burma)", "MN": "Mongolia", "MO": "Macao SAR China",
    "MP": "Northern Mariana Islands", "MQ": "Martinique", "MR": "Mauritania", "MS": "Montserrat", "MT": "Malta",
    "MU": "Mauritius", "MV": "Maldives", "MW": "Malawi", "MX": "Mexico", "MY": "Malaysia", "MZ": "Mozambique",
    "NA": "Namibia", "NC": "New Caledonia", "NE": "Niger", "NF": "Norfolk Island", "NG": "Nigeria",
    "NI": "Nicaragua", "NL": "Netherlands", "NO": "Norway", "NP": "Nepal", "NR": "Nauru", "NU": "Niue",
    "NZ": "New Zealand", "OM": "Oman", "PA": "Panama", "PE": "Peru", "PF": "French Polynesia",
    "PG": "Papua New Guinea", "PH": "Philippines", "PK": "Pakistan", "PL": "Poland", "PM": "St. Pierre & Miquelon",
    "PN": "Pitcairn Islands", "PR": "Puerto Rico", "PS": "Palestinian Territories", "PT": "Portugal", "PW": "Palau",
    "PY": "Paraguay", "QA": "Qatar", "RE": "Réunion", "RO": "Romania", "RS": "Serbia", "RU": "Russia",
    "RW": "Rwanda", "SA": "Saudi Arabia", "SB": "Solomon Islands", "SC": "Seychelles", "SD": "Sudan", "SE": "Sweden",
    "SG": "Singapore", "SH": "St. Helena", "SI": "Slovenia", "SJ": "Svalbard & Jan Mayen", "SK": "Slovakia",
    "SL": "Sierra Leone", "SM": "San Marino", "SN": "Senegal", "SO": "Somalia", "SR": "Suriname",
    "SS": "South Sudan", "ST": "São Tomé & Príncipe", "SV": "El Salvador", "SX": "Sint Maarten", "SY": "Syria",
    "SZ": "Eswatini", "TC": "Turks & Caicos Islands", "TD": "Chad", "TF": "French Southern Territories",
    "TG": "Togo", "TH": "Thailand", "TJ": "Tajikistan", "TK": "Tokelau", "TL": "Timor-Leste", "TM": "Turkmenistan",
    "TN": "Tunisia", "TO": "Tonga", "TR": "Türkiye", "TT": "Trinidad & Tobago", "TV": "Tuvalu", "TW": "Taiwan",
    "TZ": "Tanzania", "UA": "Ukraine", "UG": "Uganda", "UM": "U.S. Outlying Islands", "US": "USA", "UY": "Uruguay",
    "UZ": "Uzbekistan", "VA": "Vatican City", "VC": "St. Vincent & Grenadines", "VE": "Venezuela",
    "VG": "British Virgin Islands", "VI": "U.S. Virgin Islands", "VN": "Vietnam", "VU": "Vanuatu",
    "WF": "Wallis & Futuna", "WS": "Samoa", "XK": "Kosovo", "YE": "Yemen", "YT": "Mayotte", "ZA": "South Africa",
    "ZM": "Zambia", "ZW": "Zimbabwe"
  }'::jsonb ->> code, code);
end
$$;

-- An address in one line, by the custom of its country, with the English name of the country at its end; null if it is
-- empty. The order of the parts is that of Google's libaddressinput; what a country does not use, such as a state in
-- Germany, stands before the country, so that no part is lost.
create function formatted_address(street text, postal_code text, city text, state text, country_code text)
returns text language plpgsql immutable parallel safe as $$
declare
  a constant text := regexp_replace(street, '^\s+|\s+$', '', 'g');
  z constant text := postal_code;
  c constant text := city;
  s constant text := state;
  line text;
begin
  if coalesce(street, postal_code, city, state, country_code) is null then
    return null;
  end if;
  line := case
    when country_code in ('CN', 'HK', 'JP', 'KR', 'MO', 'TW')
      and concat(a, c, s) ~ '[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]' then
      case country_code
        when 'JP' then concat_ws(' ', '〒' || ltrim(z, '〒 '), nullif(concat(s, c, a), ''))
        when 'KR' then concat_ws(', ', nullif(concat_ws(' ', s, c, a), ''), z)
        when 'HK' then concat_ws(', ', nullif(concat(s, c, a), ''), z)
        else concat_ws(' ', z, nullif(concat(s, c, a), ''))
      end
    when country_code in ('BB', 'ID', 'JP', 'MN', 'SO', 'TH', 'TW', 'US', 'VN') then
      concat_ws(', ', a, c, nullif(concat_ws(' ', s, z), ''))
    when country_code in ('AS', 'AU', 'CA', 'CC', 'CX', 'FM', 'GU', 'HM', 'MH', 'MP', 'NF', 'PR', 'PW', 'UM', 'VI') then
      concat_ws(', ', a, nullif(concat_ws(' ', c, s, z), ''))
    when country_code in ('AC', 'AF', 'AI', 'BS', 'CN', 'CO', 'CU', 'EG', 'FK', 'GB', 'GG', 'GI', 'GS', 'HK', 'HN', 'IE',
      'IM', 'IO', 'IQ', 'JE', 'JM', 'KE', 'KN', 'KP', 'KR', 'LK', 'MM', 'NA', 'PA', 'PN', 'RU', 'SC', 'SD', 'SH', 'SR',
      'SZ', 'TC', 'TV', 'UA', 'VG', 'ZA') then concat_ws(', ', a, c, s, z)
    when country_code in ('BH', 'BM', 'BN', 'BT', 'IL', 'IN', 'JO', 'KH', 'LB', 'LS', 'MT', 'MV', 'NG', 'NP', 'NZ', 'PE',
      'PG', 'SA', 'SG', 'VC', 'VE') then concat_ws(', ', a, nullif(concat_ws(' ', c, z), ''), s)
    when country_code in ('EE', 'ES', 'IT', 'LT', 'MZ', 'PF', 'UY') then
      concat_ws(', ', a, nullif(concat_ws(' ', z, c, s), ''))
    when country_code = 'BR' then concat_ws(', ', a, nullif(concat_ws(' - ', c, s), ''), z)
    when country_code in ('BD', 'PK') then concat_ws(', ', a, nullif(concat_ws('-', c, z), ''), s)
    when country_code in ('CR', 'KI', 'LV') then concat_ws(', ', a, s, c, z)
    when country_code in ('HU', 'IR') then concat_ws(', ', s, c, a, z)
    when country_code = 'KY' then concat_ws(', ', a, c, nullif(concat_ws(' ', s, z), ''))
    when country_code = 'KZ' then concat_ws(', ', z, s, c, a)
    when country_code = 'RO' then concat_ws(', ', a, nullif(concat_ws(' ', z, s, c), ''))
    when country_code in ('SV', 'GT') then concat_ws(', ', a, nullif(concat_ws('-', z, c), ''), s)
    when country_code = 'TR' then concat_ws(', ', a, nullif(concat_ws(' ', z, nullif(concat_ws('/', c, s), '')), ''))
    when country_code in ('AL', 'AM', 'BY', 'EC', 'MU', 'NI', 'OM') then concat_ws(', ', a, z, c, s)
    else concat_ws(', ', a, nullif(concat_ws(' ', z, c), ''), s)
  end;
  return concat_ws(', ', regexp_replace(nullif(line, ''), '\s*[\n\v\f\r\u0085\u2028\u2029]\s*', ', ', 'g'),
    country_name(country_code));
end
$$;

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
    '"street":' || coalesce(to_json(record.street)::text, 'null') || ',' ||
    '"postalCode":' || coalesce(to_json(record.postal_code)::text, 'null') || ',' ||
    '"city":' || coalesce(to_json(record.city)::text, 'null') || ',' ||
    '"state":' || coalesce(to_json(record.state)::text, 'null') || ',' ||
    '"countryCode":' || coalesce(to_json(record.country_code)::text, 'null') || ',' ||
    '"formattedAddress":' || coalesce(to_json("formatted_address"(record."street", record."postal_code", record."city", record."state", record."country_code"))::text, 'null') || ',' ||
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
    '"street":' || coalesce(to_json(record.street)::text, 'null') || ',' ||
    '"postalCode":' || coalesce(to_json(record.postal_code)::text, 'null') || ',' ||
    '"city":' || coalesce(to_json(record.city)::text, 'null') || ',' ||
    '"state":' || coalesce(to_json(record.state)::text, 'null') || ',' ||
    '"countryCode":' || coalesce(to_json(record.country_code)::text, 'null') || ',' ||
    '"formattedAddress":' || coalesce(to_json("formatted_address"(record."street", record."postal_code", record."city", record."state", record."country_code"))::text, 'null') || ',' ||
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
