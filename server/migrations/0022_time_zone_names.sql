-- Changes time zones to their canonical names, which is how new values are now stored (platform/model/time-zone.ts,
-- from whose table this list was generated). `europe/berlin` becomes `Europe/Berlin`, and `Asia/Calcutta` becomes
-- `Asia/Kolkata`. An entry without `>` is a canonical name. Otherwise the old name precedes `>` and the canonical name
-- follows it.
create temporary table zone_names on commit drop as
select lower(split_part(entry, '>', 1)) as known, split_part(entry, '>', -1) as canonical
from regexp_split_to_table(trim(E' \n' from '
Africa/Abidjan Africa/Accra Africa/Addis_Ababa Africa/Algiers Africa/Asmara Africa/Asmera>Africa/Asmara Africa/Bamako
Africa/Bangui Africa/Banjul Africa/Bissau Africa/Blantyre Africa/Brazzaville Africa/Bujumbura Africa/Cairo
Africa/Casablanca Africa/Ceuta Africa/Conakry Africa/Dakar Africa/Dar_es_Salaam Africa/Djibouti Africa/Douala
Africa/El_Aaiun Africa/Freetown Africa/Gaborone Africa/Harare Africa/Johannesburg Africa/Juba Africa/Kampala
Africa/Khartoum Africa/Kigali Africa/Kinshasa Africa/Lagos Africa/Libreville Africa/Lome Africa/Luanda
Africa/Lubumbashi Africa/Lusaka Africa/Malabo Africa/Maputo Africa/Maseru Africa/Mbabane Africa/Mogadishu
Africa/Monrovia Africa/Nairobi Africa/Ndjamena Africa/Niamey Africa/Nouakchott Africa/Ouagadougou Africa/Porto-Novo
Africa/Sao_Tome Africa/Timbuktu>Africa/Bamako Africa/Tripoli Africa/Tunis Africa/Windhoek America/Adak
America/Anchorage America/Anguilla America/Antigua America/Araguaina America/Argentina/Buenos_Aires
America/Argentina/Catamarca America/Argentina/ComodRivadavia>America/Argentina/Catamarca America/Argentina/Cordoba
America/Argentina/Jujuy America/Argentina/La_Rioja America/Argentina/Mendoza America/Argentina/Rio_Gallegos
America/Argentina/Salta America/Argentina/San_Juan America/Argentina/San_Luis America/Argentina/Tucuman
America/Argentina/Ushuaia America/Aruba America/Asuncion America/Atikokan America/Atka>America/Adak America/Bahia
America/Bahia_Banderas America/Barbados America/Belem America/Belize America/Blanc-Sablon America/Boa_Vista
America/Bogota America/Boise America/Buenos_Aires>America/Argentina/Buenos_Aires America/Cambridge_Bay
America/Campo_Grande America/Cancun America/Caracas America/Catamarca>America/Argentina/Catamarca America/Cayenne
America/Cayman America/Chicago America/Chihuahua America/Ciudad_Juarez America/Coral_Harbour>America/Atikokan
America/Cordoba>America/Argentina/Cordoba America/Costa_Rica America/Coyhaique America/Creston America/Cuiaba
America/Curacao America/Danmarkshavn America/Dawson America/Dawson_Creek America/Denver America/Detroit
America/Dominica America/Edmonton America/Eirunepe America/El_Salvador America/Ensenada>America/Tijuana
America/Fort_Nelson America/Fort_Wayne>America/Indiana/Indianapolis America/Fortaleza America/Glace_Bay
America/Godthab>America/Nuuk America/Goose_Bay America/Grand_Turk America/Grenada America/Guadeloupe America/Guatemala
America/Guayaquil America/Guyana America/Halifax America/Havana America/Hermosillo America/Indiana/Indianapolis
America/Indiana/Knox America/Indiana/Marengo America/Indiana/Petersburg America/Indiana/Tell_City
America/Indiana/Vevay America/Indiana/Vincennes America/Indiana/Winamac
America/Indianapolis>America/Indiana/Indianapolis America/Inuvik America/Iqaluit America/Jamaica
America/Jujuy>America/Argentina/Jujuy America/Juneau America/Kentucky/Louisville America/Kentucky/Monticello
America/Knox_IN>America/Indiana/Knox America/Kralendijk America/La_Paz America/Lima America/Los_Angeles
America/Louisville>America/Kentucky/Louisville America/Lower_Princes America/Maceio America/Managua America/Manaus
America/Marigot America/Martinique America/Matamoros America/Mazatlan America/Mendoza>America/Argentina/Mendoza
America/Menominee America/Merida America/Metlakatla America/Mexico_City America/Miquelon America/Moncton
America/Monterrey America/Montevideo America/Montreal>America/Toronto America/Montserrat America/Nassau
America/New_York America/Nipigon>America/Toronto America/Nome America/Noronha America/North_Dakota/Beulah
America/North_Dakota/Center America/North_Dakota/New_Salem America/Nuuk America/Ojinaga America/Panama
America/Pangnirtung>America/Iqaluit America/Paramaribo America/Phoenix America/Port-au-Prince America/Port_of_Spain
America/Porto_Acre>America/Rio_Branco America/Porto_Velho America/Puerto_Rico America/Punta_Arenas
America/Rainy_River>America/Winnipeg America/Rankin_Inlet America/Recife America/Regina America/Resolute
America/Rio_Branco America/Rosario>America/Argentina/Cordoba America/Santa_Isabel>America/Tijuana America/Santarem
America/Santiago America/Santo_Domingo America/Sao_Paulo America/Scoresbysund America/Shiprock>America/Denver
America/Sitka America/St_Barthelemy America/St_Johns America/St_Kitts America/St_Lucia America/St_Thomas
America/St_Vincent America/Swift_Current America/Tegucigalpa America/Thule America/Thunder_Bay>America/Toronto
America/Tijuana America/Toronto America/Tortola America/Vancouver America/Virgin>America/St_Thomas America/Whitehorse
America/Winnipeg America/Yakutat America/Yellowknife>America/Edmonton Antarctica/Casey Antarctica/Davis
Antarctica/DumontDUrville Antarctica/Macquarie Antarctica/Mawson Antarctica/McMurdo Antarctica/Palmer
Antarctica/Rothera Antarctica/South_Pole>Antarctica/McMurdo Antarctica/Syowa Antarctica/Troll Antarctica/Vostok
Arctic/Longyearbyen Asia/Aden Asia/Almaty Asia/Amman Asia/Anadyr Asia/Aqtau Asia/Aqtobe Asia/Ashgabat
Asia/Ashkhabad>Asia/Ashgabat Asia/Atyrau Asia/Baghdad Asia/Bahrain Asia/Baku Asia/Bangkok Asia/Barnaul Asia/Beirut
Asia/Bishkek Asia/Brunei Asia/Calcutta>Asia/Kolkata Asia/Chita Asia/Choibalsan>Asia/Ulaanbaatar
Asia/Chongqing>Asia/Shanghai Asia/Chungking>Asia/Shanghai Asia/Colombo Asia/Dacca>Asia/Dhaka Asia/Damascus Asia/Dhaka
Asia/Dili Asia/Dubai Asia/Dushanbe Asia/Famagusta Asia/Gaza Asia/Harbin>Asia/Shanghai Asia/Hebron Asia/Ho_Chi_Minh
Asia/Hong_Kong Asia/Hovd Asia/Irkutsk Asia/Istanbul>Europe/Istanbul Asia/Jakarta Asia/Jayapura Asia/Jerusalem
Asia/Kabul Asia/Kamchatka Asia/Karachi Asia/Kashgar>Asia/Urumqi Asia/Kathmandu Asia/Katmandu>Asia/Kathmandu
Asia/Khandyga Asia/Kolkata Asia/Krasnoyarsk Asia/Kuala_Lumpur Asia/Kuching Asia/Kuwait Asia/Macao>Asia/Macau
Asia/Macau Asia/Magadan Asia/Makassar Asia/Manila Asia/Muscat Asia/Nicosia Asia/Novokuznetsk Asia/Novosibirsk
Asia/Omsk Asia/Oral Asia/Phnom_Penh Asia/Pontianak Asia/Pyongyang Asia/Qatar Asia/Qostanay Asia/Qyzylorda
Asia/Rangoon>Asia/Yangon Asia/Riyadh Asia/Saigon>Asia/Ho_Chi_Minh Asia/Sakhalin Asia/Samarkand Asia/Seoul
Asia/Shanghai Asia/Singapore Asia/Srednekolymsk Asia/Taipei Asia/Tashkent Asia/Tbilisi Asia/Tehran
Asia/Tel_Aviv>Asia/Jerusalem Asia/Thimbu>Asia/Thimphu Asia/Thimphu Asia/Tokyo Asia/Tomsk
Asia/Ujung_Pandang>Asia/Makassar Asia/Ulaanbaatar Asia/Ulan_Bator>Asia/Ulaanbaatar Asia/Urumqi Asia/Ust-Nera
Asia/Vientiane Asia/Vladivostok Asia/Yakutsk Asia/Yangon Asia/Yekaterinburg Asia/Yerevan Atlantic/Azores
Atlantic/Bermuda Atlantic/Canary Atlantic/Cape_Verde Atlantic/Faeroe>Atlantic/Faroe Atlantic/Faroe
Atlantic/Jan_Mayen>Arctic/Longyearbyen Atlantic/Madeira Atlantic/Reykjavik Atlantic/South_Georgia Atlantic/St_Helena
Atlantic/Stanley Australia/ACT>Australia/Sydney Australia/Adelaide Australia/Brisbane Australia/Broken_Hill
Australia/Canberra>Australia/Sydney Australia/Currie>Australia/Hobart Australia/Darwin Australia/Eucla
Australia/Hobart Australia/LHI>Australia/Lord_Howe Australia/Lindeman Australia/Lord_Howe Australia/Melbourne
Australia/NSW>Australia/Sydney Australia/North>Australia/Darwin Australia/Perth
Australia/Queensland>Australia/Brisbane Australia/South>Australia/Adelaide Australia/Sydney
Australia/Tasmania>Australia/Hobart Australia/Victoria>Australia/Melbourne Australia/West>Australia/Perth
Australia/Yancowinna>Australia/Broken_Hill Brazil/Acre>America/Rio_Branco Brazil/DeNoronha>America/Noronha
Brazil/East>America/Sao_Paulo Brazil/West>America/Manaus CET>Europe/Brussels CST6CDT>America/Chicago
Canada/Atlantic>America/Halifax Canada/Central>America/Winnipeg Canada/Eastern>America/Toronto
Canada/Mountain>America/Edmonton Canada/Newfoundland>America/St_Johns Canada/Pacific>America/Vancouver
Canada/Saskatchewan>America/Regina Canada/Yukon>America/Whitehorse Chile/Continental>America/Santiago
Chile/EasterIsland>Pacific/Easter Cuba>America/Havana EET>Europe/Athens EST>America/Panama EST5EDT>America/New_York
Egypt>Africa/Cairo Eire>Europe/Dublin Etc/GMT>UTC Etc/GMT+0>UTC Etc/GMT+1 Etc/GMT+10 Etc/GMT+11 Etc/GMT+12 Etc/GMT+2
Etc/GMT+3 Etc/GMT+4 Etc/GMT+5 Etc/GMT+6 Etc/GMT+7 Etc/GMT+8 Etc/GMT+9 Etc/GMT-0>UTC Etc/GMT-1 Etc/GMT-10 Etc/GMT-11
Etc/GMT-12 Etc/GMT-13 Etc/GMT-14 Etc/GMT-2 Etc/GMT-3 Etc/GMT-4 Etc/GMT-5 Etc/GMT-6 Etc/GMT-7 Etc/GMT-8 Etc/GMT-9
Etc/GMT0>UTC Etc/Greenwich>UTC Etc/UCT>UTC Etc/UTC>UTC Etc/Universal>UTC Etc/Zulu>UTC Europe/Amsterdam Europe/Andorra
Europe/Astrakhan Europe/Athens Europe/Belfast>Europe/London Europe/Belgrade Europe/Berlin Europe/Bratislava
Europe/Brussels Europe/Bucharest Europe/Budapest Europe/Busingen Europe/Chisinau Europe/Copenhagen Europe/Dublin
Europe/Gibraltar Europe/Guernsey Europe/Helsinki Europe/Isle_of_Man Europe/Istanbul Europe/Jersey Europe/Kaliningrad
Europe/Kiev>Europe/Kyiv Europe/Kirov Europe/Kyiv Europe/Lisbon Europe/Ljubljana Europe/London Europe/Luxembourg
Europe/Madrid Europe/Malta Europe/Mariehamn Europe/Minsk Europe/Monaco Europe/Moscow Europe/Nicosia>Asia/Nicosia
Europe/Oslo Europe/Paris Europe/Podgorica Europe/Prague Europe/Riga Europe/Rome Europe/Samara Europe/San_Marino
Europe/Sarajevo Europe/Saratov Europe/Simferopol Europe/Skopje Europe/Sofia Europe/Stockholm Europe/Tallinn
Europe/Tirane Europe/Tiraspol>Europe/Chisinau Europe/Ulyanovsk Europe/Uzhgorod>Europe/Kyiv Europe/Vaduz Europe/Vatican
Europe/Vienna Europe/Vilnius Europe/Volgograd Europe/Warsaw Europe/Zagreb Europe/Zaporozhye>Europe/Kyiv Europe/Zurich
GB>Europe/London GB-Eire>Europe/London GMT>UTC GMT+0>UTC GMT-0>UTC GMT0>UTC Greenwich>UTC HST>Pacific/Honolulu
Hongkong>Asia/Hong_Kong Iceland>Atlantic/Reykjavik Indian/Antananarivo Indian/Chagos Indian/Christmas Indian/Cocos
Indian/Comoro Indian/Kerguelen Indian/Mahe Indian/Maldives Indian/Mauritius Indian/Mayotte Indian/Reunion
Iran>Asia/Tehran Israel>Asia/Jerusalem Jamaica>America/Jamaica Japan>Asia/Tokyo Kwajalein>Pacific/Kwajalein
Libya>Africa/Tripoli MET>Europe/Brussels MST>America/Phoenix MST7MDT>America/Denver Mexico/BajaNorte>America/Tijuana
Mexico/BajaSur>America/Mazatlan Mexico/General>America/Mexico_City NZ>Pacific/Auckland NZ-CHAT>Pacific/Chatham
Navajo>America/Denver PRC>Asia/Shanghai PST8PDT>America/Los_Angeles Pacific/Apia Pacific/Auckland Pacific/Bougainville
Pacific/Chatham Pacific/Chuuk Pacific/Easter Pacific/Efate Pacific/Enderbury>Pacific/Kanton Pacific/Fakaofo
Pacific/Fiji Pacific/Funafuti Pacific/Galapagos Pacific/Gambier Pacific/Guadalcanal Pacific/Guam Pacific/Honolulu
Pacific/Johnston>Pacific/Honolulu Pacific/Kanton Pacific/Kiritimati Pacific/Kosrae Pacific/Kwajalein Pacific/Majuro
Pacific/Marquesas Pacific/Midway Pacific/Nauru Pacific/Niue Pacific/Norfolk Pacific/Noumea Pacific/Pago_Pago
Pacific/Palau Pacific/Pitcairn Pacific/Pohnpei Pacific/Ponape>Pacific/Pohnpei Pacific/Port_Moresby Pacific/Rarotonga
Pacific/Saipan Pacific/Samoa>Pacific/Pago_Pago Pacific/Tahiti Pacific/Tarawa Pacific/Tongatapu
Pacific/Truk>Pacific/Chuuk Pacific/Wake Pacific/Wallis Pacific/Yap>Pacific/Chuuk Poland>Europe/Warsaw
Portugal>Europe/Lisbon ROC>Asia/Taipei ROK>Asia/Seoul Singapore>Asia/Singapore Turkey>Europe/Istanbul UCT>UTC
US/Alaska>America/Anchorage US/Aleutian>America/Adak US/Arizona>America/Phoenix US/Central>America/Chicago
US/East-Indiana>America/Indiana/Indianapolis US/Eastern>America/New_York US/Hawaii>Pacific/Honolulu
US/Indiana-Starke>America/Indiana/Knox US/Michigan>America/Detroit US/Mountain>America/Denver
US/Pacific>America/Los_Angeles US/Samoa>Pacific/Pago_Pago UTC Universal>UTC W-SU>Europe/Moscow WET>Europe/Lisbon
Zulu>UTC
'), '\s+') as entry;

update contacts set time_zone = canonical from zone_names where lower(time_zone) = known and time_zone <> canonical;
update companies set time_zone = canonical from zone_names where lower(time_zone) = known and time_zone <> canonical;
update organizations set time_zone = canonical from zone_names where lower(time_zone) = known and time_zone <> canonical;
