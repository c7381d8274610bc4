import { getAllTimezones } from 'countries-and-timezones'

const zones = getAllTimezones({ deprecated: true })

const isZone = (name: string): name is keyof typeof zones => Object.hasOwn(zones, name)

/** Old names (IANA's file `backward`) of places whose clocks follow another country's. */
const renamed: Partial<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'Africa/Timbuktu': 'Africa/Bamako',
  'America/Coral_Harbour': 'America/Atikokan',
  'America/Virgin': 'America/St_Thomas',
  'Antarctica/South_Pole': 'Antarctica/McMurdo',
  'Atlantic/Jan_Mayen': 'Arctic/Longyearbyen',
  Iceland: 'Atlantic/Reykjavik',
  'Pacific/Johnston': 'Pacific/Honolulu',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
  'Pacific/Yap': 'Pacific/Chuuk',
}

/** Canonical names by lower-case name. */
const canonical = new Map(
  Object.keys(zones)
    .filter((name) => name !== 'Factory')
    .map((name) => [name.toLowerCase(), canonicalOf(name)]),
)

/** `europe/berlin` becomes `Europe/Berlin`. From a table, because `Intl` differs between Node versions. */
export const timeZoneName = (name: string): string | undefined => canonical.get(name.toLowerCase())

/** Follows no link to another country: IANA links `Europe/Oslo` to `Europe/Berlin`. As ECMA-402, section 6.5. */
function canonicalOf(name: string): string {
  if (name === 'Etc/UTC' || name === 'Etc/GMT') return 'UTC'
  const target = isZone(name) ? zones[name].aliasOf : undefined
  if (!isZone(name) || !target) return name
  return zones[name].countries[0] === zones[target].countries[0] ? canonicalOf(target) : (renamed[name] ?? name)
}
