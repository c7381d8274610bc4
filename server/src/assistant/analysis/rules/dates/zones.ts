/** Time zones as people write them after a time. Those with summer time are the zones where they are used. */
const abbreviations: Readonly<Record<string, string>> = {
  utc: 'UTC',
  gmt: 'UTC',
  pst: 'America/Los_Angeles',
  pdt: 'America/Los_Angeles',
  pt: 'America/Los_Angeles',
  mst: 'America/Denver',
  mdt: 'America/Denver',
  mt: 'America/Denver',
  cst: 'America/Chicago',
  cdt: 'America/Chicago',
  ct: 'America/Chicago',
  est: 'America/New_York',
  edt: 'America/New_York',
  et: 'America/New_York',
  akst: 'America/Anchorage',
  hst: 'Pacific/Honolulu',
  brt: 'America/Sao_Paulo',
  bst: 'Europe/London',
  wet: 'Europe/Lisbon',
  west: 'Europe/Lisbon',
  cet: 'Europe/Berlin',
  cest: 'Europe/Berlin',
  mez: 'Europe/Berlin',
  mesz: 'Europe/Berlin',
  eet: 'Europe/Helsinki',
  eest: 'Europe/Helsinki',
  oez: 'Europe/Helsinki',
  msk: 'Europe/Moscow',
  trt: 'Europe/Istanbul',
  ist: 'Asia/Kolkata',
  gst: 'Asia/Dubai',
  sgt: 'Asia/Singapore',
  hkt: 'Asia/Hong_Kong',
  jst: 'Asia/Tokyo',
  kst: 'Asia/Seoul',
  awst: 'Australia/Perth',
  acst: 'Australia/Adelaide',
  aest: 'Australia/Sydney',
  aedt: 'Australia/Sydney',
  nzst: 'Pacific/Auckland',
  nzdt: 'Pacific/Auckland',
  sast: 'Africa/Johannesburg',
}

/** Regions and countries with one zone, and cities after which none is named. */
const places: Readonly<Record<string, string>> = {
  eastern: 'America/New_York',
  'us eastern': 'America/New_York',
  'eastern standard': 'America/New_York',
  'east coast': 'America/New_York',
  ny: 'America/New_York',
  nyc: 'America/New_York',
  boston: 'America/New_York',
  washington: 'America/New_York',
  atlanta: 'America/New_York',
  miami: 'America/New_York',
  central: 'America/Chicago',
  'us central': 'America/Chicago',
  dallas: 'America/Chicago',
  houston: 'America/Chicago',
  austin: 'America/Chicago',
  texas: 'America/Chicago',
  mountain: 'America/Denver',
  pacific: 'America/Los_Angeles',
  'us pacific': 'America/Los_Angeles',
  'pacific standard': 'America/Los_Angeles',
  'west coast': 'America/Los_Angeles',
  california: 'America/Los_Angeles',
  kalifornischer: 'America/Los_Angeles',
  la: 'America/Los_Angeles',
  seattle: 'America/Los_Angeles',
  'san francisco': 'America/Los_Angeles',
  sf: 'America/Los_Angeles',
  uk: 'Europe/London',
  british: 'Europe/London',
  england: 'Europe/London',
  britischer: 'Europe/London',
  englischer: 'Europe/London',
  'central european': 'Europe/Berlin',
  mitteleuropäischer: 'Europe/Berlin',
  german: 'Europe/Berlin',
  germany: 'Europe/Berlin',
  deutscher: 'Europe/Berlin',
  munich: 'Europe/Berlin',
  hamburg: 'Europe/Berlin',
  frankfurt: 'Europe/Berlin',
  swiss: 'Europe/Zurich',
  schweizer: 'Europe/Zurich',
  austrian: 'Europe/Vienna',
  french: 'Europe/Paris',
  spanish: 'Europe/Madrid',
  dutch: 'Europe/Amsterdam',
  polish: 'Europe/Warsaw',
  israel: 'Asia/Jerusalem',
  india: 'Asia/Kolkata',
  indian: 'Asia/Kolkata',
  indischer: 'Asia/Kolkata',
  mumbai: 'Asia/Kolkata',
  bangalore: 'Asia/Kolkata',
  delhi: 'Asia/Kolkata',
  japan: 'Asia/Tokyo',
  japanischer: 'Asia/Tokyo',
  beijing: 'Asia/Shanghai',
  china: 'Asia/Shanghai',
}

const cities: ReadonlyMap<string, string> = new Map(
  Intl.supportedValuesOf('timeZone').map((zone) => [
    zone
      .slice(zone.lastIndexOf('/') + 1)
      .replaceAll('_', ' ')
      .toLowerCase(),
    zone,
  ]),
)

const abbreviation = new RegExp(
  String.raw`^ *\(?(${[...Object.keys(abbreviations), 'eastern', 'pacific', 'central', 'mountain'].join('|')})\)?(?![\p{L}\d+-])`,
  'u',
)
const offset = /^ *\(?(?:utc|gmt) ?([+-]) ?(\d{1,2})(?::?(\d\d))?\)?(?!\d)/u
const placeTime =
  /^ *\(?(?:in )?((?:[\p{L}.]{2,15} ){1,2})(?:standard |local |summer )?(?:time|zeit|ortszeit)\)?(?!\p{L})/u
const localTimeOf = /^ *\(?ortszeit (\p{L}{2,15})\)?/u

export interface FoundZone {
  length: number
  /** An IANA name, or minutes ahead of UTC. */
  zone: string | number
}

/** The zone that the words after a time name. */
export function zoneAfter(text: string): FoundZone | undefined {
  const ahead = offset.exec(text)
  if (ahead) {
    const minutes = 60 * Number(ahead[2]) + Number(ahead[3] ?? '0')
    return { length: ahead[0].length, zone: ahead[1] === '-' ? -minutes : minutes }
  }
  const short = abbreviation.exec(text)
  if (short) return { length: short[0].length, zone: abbreviations[short[1] ?? ''] ?? places[short[1] ?? ''] ?? 'UTC' }
  const named = placeTime.exec(text) ?? localTimeOf.exec(text)
  if (!named) return undefined
  const names = (named[1] ?? '').trim().replaceAll('.', '').split(' ')
  const zone = zoneOfPlace(names.join(' ')) ?? zoneOfPlace(names.at(-1) ?? '')
  return zone === undefined ? undefined : { length: named[0].length, zone }
}

/** "Londoner Zeit" is that of London. */
const zoneOfPlace = (name: string): string | undefined =>
  places[name] ?? cities.get(name) ?? cities.get(name.replace(/er$/, '')) ?? places[name.replace(/er$/, '')]

const usualUnitedStates =
  /^(?:US\/|America\/(?:New_York|Detroit|Chicago|Menominee|Denver|Boise|Phoenix|Los_Angeles|Anchorage|Juneau|Sitka|Metlakatla|Yakutat|Nome|Adak|Indianapolis|Fort_Wayne|Louisville|Shiprock|Puerto_Rico|St_Thomas|Virgin|Indiana\/|Kentucky\/|North_Dakota\/)|Pacific\/(?:Honolulu|Johnston|Guam|Saipan|Pago_Pago|Midway|Samoa|Palau)|Asia\/Manila|(?:EST|CST|MST|PST)\d)/

/** Where the month comes before the day: the United States and few others. */
export const isMonthFirst = (zone: string): boolean => usualUnitedStates.test(zone)
