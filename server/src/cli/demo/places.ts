import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

export interface Name {
  text: string
  /** Lower-case ASCII letters, for email addresses. */
  latin: string
}

interface Names {
  firstNames: readonly Name[]
  lastNames: readonly Name[]
}

interface Language {
  code: string
  women: Names
  men: Names
  /** Names of companies. */
  companies: readonly string[]
  /** What a company may be about. */
  subjects: readonly string[]
}

export interface Town {
  language: Language
  weight: number
  city: string
  state: string | null
  country: string
  /** City and country, in the local language. */
  location: string
  zone: string
  latitude: number
  longitude: number
  /** Prefix of phone numbers, and the number of digits after it. */
  phone: string
  digits: number
}

/**
 * One line per place: `locale|weight|city|state|country|zone|latitude|longitude|phone prefix|digits after it`.
 * Phone numbers are reserved for fiction where a country has such numbers.
 */
const table = `
en_GB|9|London|England|GB|Europe/London|51.5074|-0.1278|+442079460|3
en_GB|3|Edinburgh|Scotland|GB|Europe/London|55.9533|-3.1883|+441314960|3
en_GB|2|Dublin|Leinster|IE|Europe/Dublin|53.3498|-6.2603|+3531000|4
en_US|8|New York|New York|US|America/New_York|40.7128|-74.006|+121255501|2
en_US|5|Chicago|Illinois|US|America/Chicago|41.8781|-87.6298|+131255501|2
en_US|4|San Francisco|California|US|America/Los_Angeles|37.7749|-122.4194|+141555501|2
en_CA|2|Toronto|Ontario|CA|America/Toronto|43.6532|-79.3832|+141655501|2
en_AU|2|Sydney|New South Wales|AU|Australia/Sydney|-33.8688|151.2093|+6125550|4
de|4|Berlin|Berlin|DE|Europe/Berlin|52.52|13.405|+493023125|3
de|3|Hamburg|Hamburg|DE|Europe/Berlin|53.5511|9.9937|+494066969|3
de|3|München|Bayern|DE|Europe/Berlin|48.1351|11.582|+498999998|3
de_AT|1|Wien|Wien|AT|Europe/Vienna|48.2082|16.3738|+431000|4
de_CH|1|Zürich|Zürich|CH|Europe/Zurich|47.3769|8.5417|+4144000|4
fr|4|Paris|Île-de-France|FR|Europe/Paris|48.8566|2.3522|+3319900|4
fr|2|Lyon|Auvergne-Rhône-Alpes|FR|Europe/Paris|45.764|4.8357|+3346171|4
fr_CH|1|Genève|Genève|CH|Europe/Zurich|46.2044|6.1432|+4122000|4
fr_CA|1|Montréal|Québec|CA|America/Toronto|45.5017|-73.5673|+151455501|2
fr_SN|1|Dakar|Dakar|SN|Africa/Dakar|14.7167|-17.4677|+2213380|5
es|3|Madrid|Comunidad de Madrid|ES|Europe/Madrid|40.4168|-3.7038|+3491000|4
es|2|Barcelona|Cataluña|ES|Europe/Madrid|41.3851|2.1734|+3493000|4
es_MX|2|Ciudad de México|Ciudad de México|MX|America/Mexico_City|19.4326|-99.1332|+5255000|5
es|1|Bogotá|Bogotá|CO|America/Bogota|4.711|-74.0721|+576010|6
es|1|Buenos Aires|Buenos Aires|AR|America/Argentina/Buenos_Aires|-34.6037|-58.3816|+5411000|5
pt_PT|2|Lisboa|Lisboa|PT|Europe/Lisbon|38.7223|-9.1393|+35121000|4
pt_BR|4|São Paulo|São Paulo|BR|America/Sao_Paulo|-23.5505|-46.6333|+5511000|5
it|3|Roma|Lazio|IT|Europe/Rome|41.9028|12.4964|+3906000|5
it|2|Milano|Lombardia|IT|Europe/Rome|45.4642|9.19|+3902000|5
nl|2|Amsterdam|Noord-Holland|NL|Europe/Amsterdam|52.3676|4.9041|+3120000|4
nl_BE|1|Antwerpen|Antwerpen|BE|Europe/Brussels|51.2194|4.4025|+323000|4
sv|2|Stockholm|Stockholms län|SE|Europe/Stockholm|59.3293|18.0686|+468465004|2
nb_NO|1|Tromsø|Troms|NO|Europe/Oslo|69.6492|18.9553|+4777000|3
da|1|København|Hovedstaden|DK|Europe/Copenhagen|55.6761|12.5683|+453000|4
pl|3|Łódź|Łódzkie|PL|Europe/Warsaw|51.7592|19.456|+4842000|4
cs_CZ|1|Plzeň|Plzeňský kraj|CZ|Europe/Prague|49.7384|13.3736|+42037000|4
tr|3|İstanbul|İstanbul|TR|Europe/Istanbul|41.0082|28.9784|+90212000|4
ru|2|Алматы|Алматы|KZ|Asia/Almaty|43.222|76.8512|+7727000|4
ru|2|Москва|Москва|RU|Europe/Moscow|55.7558|37.6173|+7495000|4
ru|1|Бишкек||KG|Asia/Bishkek|42.8746|74.5698|+996312|6
uk|3|Київ|Київ|UA|Europe/Kyiv|50.4501|30.5234|+38044000|4
el|2|Αθήνα|Αττική|GR|Europe/Athens|37.9838|23.7275|+30210000|4
el|1|Λευκωσία||CY|Asia/Nicosia|35.1856|33.3823|+35722000|3
ar|2|القاهرة|القاهرة|EG|Africa/Cairo|30.0444|31.2357|+202000|5
ar|2|الرياض|الرياض|SA|Asia/Riyadh|24.7136|46.6753|+96611000|4
ar|1|دبي|دبي|AE|Asia/Dubai|25.2048|55.2708|+9714000|4
he|2|תל אביב|תל אביב|IL|Asia/Jerusalem|32.0853|34.7818|+9723000|4
zh_CN|3|北京|北京市|CN|Asia/Shanghai|39.9042|116.4074|+8610000|5
zh_CN|3|深圳|广东省|CN|Asia/Shanghai|22.5431|114.0579|+86755000|5
zh_CN|1|新加坡||SG|Asia/Singapore|1.3521|103.8198|+65600|5
zh_TW|1|台北|台北市|TW|Asia/Taipei|25.033|121.5654|+8862000|5
ja|4|東京|東京都|JP|Asia/Tokyo|35.6762|139.6503|+813000|5
ja|2|札幌|北海道|JP|Asia/Tokyo|43.0618|141.3545|+8111000|4
ko|3|서울|서울특별시|KR|Asia/Seoul|37.5665|126.978|+822000|5
ne|4|काठमाडौँ|बागमती|NP|Asia/Kathmandu|27.7172|85.324|+9771000|4
th|2|กรุงเทพมหานคร|กรุงเทพมหานคร|TH|Asia/Bangkok|13.7563|100.5018|+662000|4
vi|3|Hà Nội|Hà Nội|VN|Asia/Ho_Chi_Minh|21.0278|105.8342|+8424000|5
id_ID|3|Jakarta|DKI Jakarta|ID|Asia/Jakarta|-6.2088|106.8456|+6221000|5
id_ID|1|Makassar|Sulawesi Selatan|ID|Asia/Makassar|-5.1477|119.4327|+62411000|4`

/** Lists of names in one text each, which scripts/demo-names.mjs wrote. */
interface WrittenNames {
  language: string
  women: string
  men: string
  lastNames: string
  lastNamesOfWomen?: string
  companies: string
  subjects: string
}

/** All places of a demo, with names in their languages. */
export function makeTowns(): Town[] {
  const file = createRequire(import.meta.url).resolve('#data/demo-names.json')
  const written = JSON.parse(readFileSync(file, 'utf8')) as Record<string, WrittenNames>
  const languages = new Map(Object.entries(written).map(([locale, names]) => [locale, languageOf(names)]))
  return table
    .trim()
    .split('\n')
    .map((line) => {
      const [locale = '', weight, city = '', state, country = '', zone = '', ...numbers] = line.split('|')
      const [latitude, longitude, phone = '', digits] = numbers
      const language = languages.get(locale)
      if (!language) throw new Error(`There are no names for ${locale}.`)
      const countries = new Intl.DisplayNames([language.code], { type: 'region' })
      return {
        ...{ language, city, country, zone, phone },
        weight: Number(weight),
        state: state || null,
        location: `${city}, ${countries.of(country)}`,
        latitude: Number(latitude),
        longitude: Number(longitude),
        digits: Number(digits),
      }
    })
}

function languageOf({
  language,
  women,
  men,
  lastNames,
  lastNamesOfWomen,
  companies,
  subjects,
}: WrittenNames): Language {
  return {
    code: language,
    women: { firstNames: namesIn(women), lastNames: namesIn(lastNamesOfWomen ?? lastNames) },
    men: { firstNames: namesIn(men), lastNames: namesIn(lastNames) },
    companies: companies.split('|'),
    subjects: subjects.split('|'),
  }
}

/** `Zoë=zoe|Zara`: the letters for an address are given where they are not those of the name. */
const namesIn = (list: string): Name[] =>
  list.split('|').map((name) => {
    const [text = '', latin = text.toLowerCase().replace(/[^a-z]/g, '')] = name.split('=')
    return { text, latin }
  })
