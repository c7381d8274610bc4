import { months, weekdays, words } from './words.ts'

// Texts with a number or the name of a day that are not a date. It is replaced before dates are read.

const number = String.raw`(?<![\p{L}\p{N}])`
const things =
  'order|invoice|ticket|flight|train|room|page|pages|chapter|section|version|article|paragraph|case|item|number|numbers|building|suite|floor|unit|apartment|apt|release|build|gate|platform|track|extension|ext|po|sku|part|lot|contract|quote|customer|account|issue|bug|rev|revision|level|phase|step|slide|line|booth|stand|hall|seat|auftrag|auftragsnummer|bestellung|bestellnummer|rechnung|rechnungsnummer|kundennummer|vertrag|vertragsnummer|flug|zug|zimmer|raum|seite|seiten|kapitel|artikel|position|pos|gleis|halle|stand|stock|durchwahl|dw|plz|iban|konto|tel|telefon|phone|mobile|mobil|handy|fax|nummer|art|abschnitt|punkt|schritt|folie|ice|ic|re|lh|ba|id'

const masks: readonly RegExp[] = [
  // Addresses and links.
  /(?<![^\s@])[^\s@]+@[^\s@]+\.\S+|(?:https?:\/\/|www\.)\S+|(?<![\p{L}\d])(?:monday|friday)\.com/gu,
  // Phone numbers.
  new RegExp(String.raw`(?<![\p{L}\d])(?:\+|00)\d[\d ()/.-]{5,20}\d`, 'gu'),
  /(?<![\p{L}\d.:/])\(?0\d{1,5}\)?[ /-]{1,3}\d[\d -]{2,14}\d(?![.:]\d)/gu,
  /(?<![\p{L}\d])\(\d{3}\) ?\d{3}[ .-]?\d{4}/gu,
  /(?<![\p{L}\d.])\d{3}[ .-]\d{3,4}(?:[ .-]\d{4})?(?![\d.:])(?! ?(?:€|eur|usd))/gu,
  /(?<![\p{L}\d.:/-])\d{5,}(?![\d.:/])/gu,
  // Versions, addresses of machines, prices and measures.
  new RegExp(String.raw`${number}v? ?\d+\.\d+\.\d+(?:\.\d+)*(?!\d)(?<!\.20\d\d)(?<!\d\.\d{1,2}\.\d\d)`, 'gu'),
  new RegExp(String.raw`${number}v ?\d+(?:\.\d+)+`, 'gu'),
  /[$€£] ?\d[\d.,]{0,20}(?: ?(?:k|m|mio|mn|million|thousand))?(?![\d:])/gu,
  /(?<![\p{L}\d])\d[\d.,]{0,20} ?(?:[$€£%‰°"″′]|x ?\d[\d.,]{0,20}(?: ?x ?\d[\d.,]{0,20})?)/gu,
  new RegExp(
    String.raw`${number}\d[\d.,]{0,20}(?: ?(?:-|to|bis) ?\d[\d.,]{0,20})? ?(?:eur|euros?|usd|dollars?|chf|gbp|pounds?|cents?|k|mio|million(?:en)?|mrd|tsd|percent|prozent|mm|cm|km|kg|qm|m²|m2|sqm|gb|mb|tb|kwh?|mw|volt|watt|liters?|litres?|liter|inch(?:es)?|feet|ft|miles?|meter|stück|stk|pieces?|pcs|units?|users?|nutzer|seats?|licen[cs]es?|lizenzen|people|persons?|personen|leute|employees|mitarbeiter\p{L}*|customers?|kunden|locations?|standorte?n?|offices|bedrooms|rooms|guests?|gäste|colleagues|teams?|pages|seiten|stars?|sterne|points|punkte|times|mal|x)(?![\p{L}\d])`,
    'gu',
  ),
  // References: "order no. 5-12", "flight LH 1430", "room 1030".
  new RegExp(
    String.raw`${number}(?:${things})[ .:#-]{0,3}(?:(?:nr|no|number|nummer)?[ .:#]{1,3})?(?:[a-z]{1,3}[ -]?)?\d[\d./-]*(?![\d:]|\p{L}| ?(?:uhr|am|pm|o'clock)(?!\p{L}))`,
    'gu',
  ),
  new RegExp(String.raw`(?:#|§§? ?|${number}(?:nr|no)\. ?)\d[\d./-]*(?!\d)`, 'gu'),
  new RegExp(
    String.raw`${number}\d+[a-z]?(?=[- ](?:year|month|week|day|hour|minute|jährig|monatig|stündig|tägig|seitig)(?:s?\p{L}*-|[ -](?:old|trial|contract|plan|call|meeting|demo|vertrag|session|slot)|ig))(?![\p{L}\d:])`,
    'gu',
  ),
  // Streets and postcodes.
  /(?<=(?<!\p{L})\p{L}+(?:straße|strasse|str\.|weg|platz|allee|gasse|ring|ufer|damm) )\d{1,4} ?[a-z]?(?![\p{L}\d:])/gu,
  /(?<![\p{L}\d])\d{1,5} (?:\p{L}+ ){1,3}(?:street|st|road|rd|avenue|ave|lane|drive|boulevard|blvd|square|court|way)(?!\p{L})/gu,
  /(?<![\p{L}\d])24 ?\/ ?7(?: ?\/ ?365)?|(?<![\p{L}\d])(?:9|nine)[ -]to[ -](?:5|five)(?= (?:jobs?|work))/gu,
  // Greetings and wishes.
  words(
    String.raw`good (?:morning|afternoon|evening|day)|guten (?:morgen|tag|abend|rutsch)|gute nacht|moin|(?:have|had|enjoy|wish you|wishing you) (?:a|an|your|the) (?:\p{L}+ ){0,2}(?:day|week|weekend|evening|afternoon|morning|christmas|holidays?|easter|year|monday|friday)|(?:happy|merry|enjoy your|enjoy the|great|nice|lovely|blessed) (?:new year|christmas|xmas|easter|holidays?|thanksgiving|halloween|weekend|evening|monday|friday|week|day)|(?:schön(?:e[nrs]?)?|frohe[ns]?|gesegnete|gutes|guten|besinnliche|angenehme[nsr]?|erholsame[ns]?) (?:neues jahr|start (?:in die woche|ins neue jahr)|tag|abend|woche|wochenende|wochenstart|feierabend|feiertage|weihnachten|weihnachtstage|weihnachtszeit|ostern|osterfest|pfingsten|nachmittag|vormittag|freitag|montag|urlaub)(?: noch)?`,
  ),
  // What is over.
  words(
    String.raw`(?:last|past|letzte[rnms]?|vergangene[rnms]?|vorige[rnms]?|since|seit(?: dem)?|earlier) (?:the )?(?:${weekdays}|mon|wed|sat|sun|${months}|week|month|quarter|year|weekend|christmas|easter|summer|woche|monats?|jahr(?:es)?|quartal|wochenende|weihnachten|ostern|heute morgen|this morning)(?! (?:of|in|im|des) (?:the |this |next |nächsten )?(?:month|monats?|year|jahres|quarter|quartals|${months})(?!\p{L}))`,
  ),
  words(
    String.raw`(?:last|letzten?) (?:night)|yesterday(?: \p{L}+)?|(?:vor)?gestern(?: ?(?:morgen|abend|nachmittag|vormittag|früh))?|(?:a|an|one|two|three|four|five|six|\d{1,3}|a few|several|some) (?:minutes?|hours?|days?|weeks?|months?|years?) (?:ago|back|earlier)|vor (?:ein(?:em|er|igen)?|zwei|drei|vier|fünf|sechs|ein paar|wenigen|\d{1,3}) (?:minuten?|stunden?|tage?n?|wochen?|monate?n?|jahre?n?)`,
  ),
  // What happens again and again.
  words(
    String.raw`(?:every|each|jede[rnms]?|alle) (?:other |zweiten? |second )?(?:${weekdays}|day|week|month|morning|tag|woche|monat|morgen|\d+ (?:\p{L}+))|(?:${weekdays})s(?! ?\d)|(?:mon|tues|wednes|thurs|fri|satur|sun)days(?: and (?:mon|tues|wednes|thurs|fri|satur|sun)days)?`,
  ),
  // Words of other meanings.
  words(
    String.raw`(?:may|might) (?=i |we |you |he |she |they |be |not )|(?:day|tag) (?:one|1|eins)|year over year|day[- ]to[- ]day|week(?:s)? of work|the other day|one day|some day|eines tages|first come|next to|next steps?|für \d+ (?:minuten|stunden)|(?:a|for|für|duration of|takes|dauert) (?:about |ca\. |etwa )?\d+ ?(?:min\p{L}*|hours?|hrs?|h|std|stunden?)(?! (?:from|ab))`,
  ),
]

const filler = '¤'

/** Flights and models, "LH 1430". */
const capitals =
  /(?<![\p{L}\d])(?!(?:AM|UM|AT|ON|IN|BY|TO|OR|AB|KW|CW|BIS|VOR|FOR|JAN|FEB|MAR|APR|MAY|MAI|JUN|JUL|AUG|SEP|OCT|OKT|NOV|DEC|DEZ|MO|DI|MI|DO|FR|SA|SO|MON|TUE|WED|THU|FRI|SAT|SUN|DEN|DEM|ZUM|THE|AND|UND|PAST)[ -])[A-Z]{2,3}[ -]?\d{2,5}(?![\p{L}\d:])/gu

const withoutCapitals = (text: string): ((normal: string) => string) => {
  const spans = [...text.matchAll(capitals)]
  return (normal) =>
    spans.reduce(
      (rest, { index, 0: found }) =>
        rest.slice(0, index) + filler.repeat(found.length) + rest.slice(index + found.length),
      normal,
    )
}

/** The normal form of a text with everything replaced that only looks like a date, at the same offsets. */
export const withoutOtherWords = (text: string, normal: string): string =>
  masks.reduce(
    (rest, mask) => rest.replaceAll(mask, (found) => filler.repeat(found.length)),
    withoutCapitals(text)(normal),
  )
