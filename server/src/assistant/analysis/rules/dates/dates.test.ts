import { expect, test } from 'vitest'
import { wallTimeOf } from '../../local-time.ts'
import { datesIn } from './dates.ts'

/** Thursday, 26 November 2026. */
const now = new Date('2026-11-26T14:14:00Z')

/** The local time of the date that the text names, in either language. */
function dateIn(text: string, zone = 'Europe/London', at = now): string {
  const found = (['en', 'de'] as const).map((language) => {
    const dates = datesIn(text, language, { now: at, zone })
    const first = dates.find(({ hasTime }) => hasTime) ?? dates[0]
    return first ? new Date(wallTimeOf(first.instant, zone)).toISOString().slice(0, 16) : 'no date'
  })
  return [...new Set(found)].join(' or ')
}

test.each([
  ['call me in an hour', '2026-11-26T15:14'],
  ['call me in half an hour', '2026-11-26T14:44'],
  ['ping me in 90 minutes', '2026-11-26T15:44'],
  ["Let's talk after Christmas", '2026-12-28T09:00'],
  ['between the years is fine', '2026-12-28T09:00'],
  ['first Monday of January', '2027-01-04T09:00'],
  ['last Friday of the month', '2026-11-27T09:00'],
  ['second week of March', '2027-03-08T09:00'],
  ['Call me at 020 7946 0123 tomorrow', '2026-11-27T09:00'],
  ['Meet on Monday - Friday', '2026-11-30T09:00'],
  ['tomorrow at 10 Uhr MEZ', '2026-11-27T09:00'],
  ["let's meet on 1/13", '2027-01-13T09:00'],
  ['by the end of next week', '2026-12-04T09:00'],
  ['by the end of the month', '2026-11-30T09:00'],
  ['send it by EOD', '2026-11-26T17:00'],
  ['send it by COB Friday', '2026-11-27T17:00'],
  ['any day except Monday', 'no date'],
  ['not on Monday please', 'no date'],
  ['call me today', '2026-11-26T15:00'],
  ['he called this morning', 'no date'],
  ['tomorrow at half past three', '2026-11-27T15:30'],
  ['tomorrow at quarter to four', '2026-11-27T15:45'],
  ['tomorrow at noon', '2026-11-27T12:00'],
  ['by midnight', '2026-11-27T00:00'],
  ['we met on Monday', 'no date'],
  ['between 2 and 4 pm tomorrow', '2026-11-27T14:00'],
  ['tomorrow from 9 to 5', '2026-11-27T09:00'],
  ['flight LH 1430 lands tomorrow', '2026-11-27T09:00'],
  ['We need 5 x 12 panels at 4.50 EUR on Tuesday', '2026-12-01T09:00'],
  ['Ship to 12 Baker Street by Friday', '2026-11-27T09:00'],
])('in London, %j is %s', (text, date) => {
  expect(dateIn(text, 'Europe/London')).toBe(date)
})

test.each([
  ['Bitte in einer halben Stunde anrufen', '2026-11-26T15:44'],
  ['Bitte nach Ostern melden', '2027-03-30T09:00'],
  ['zwischen den Jahren passt', '2026-12-28T09:00'],
  ['am ersten Montag im Januar', '2027-01-04T09:00'],
  ['in der zweiten Märzwoche', '2027-03-08T09:00'],
  ['letzten Freitag im Monat', '2026-11-27T09:00'],
  ['morgen 15:00 UTC', '2026-11-27T16:00'],
  ['bis Ende nächster Woche', '2026-12-04T09:00'],
  ['nicht am Montag bitte', 'no date'],
  ['ruf mich heute an', '2026-11-26T16:00'],
  ['morgen um halb vier', '2026-11-27T15:30'],
  ['morgen um viertel nach drei', '2026-11-27T15:15'],
  ['morgen um dreiviertel vier', '2026-11-27T15:45'],
  ['Am Montag haben wir uns getroffen', 'no date'],
  ['morgen zwischen 14 und 16 Uhr', '2026-11-27T14:00'],
  ['Montag bis Freitag erreichbar', '2026-11-30T09:00'],
  ['Bestellung Nr. 12/10 bis Freitag prüfen', '2026-11-27T09:00'],
  ['Version 3.11 bis Freitag installieren', '2026-11-27T09:00'],
  ['Hauptstraße 12, 10115 Berlin am Dienstag', '2026-12-01T09:00'],
])('in Berlin, %j is %s', (text, date) => {
  expect(dateIn(text, 'Europe/Berlin')).toBe(date)
})

test.each([
  ['tomorrow at 5pm PST', 'America/New_York', '2026-11-26T14:14:00Z', '2026-11-27T20:00'],
  ['tomorrow 9am London time', 'America/New_York', '2026-11-26T14:14:00Z', '2026-11-27T04:00'],
  ["let's meet on 5/1", 'America/Sao_Paulo', '2026-11-26T14:14:00Z', '2027-01-05T09:00'],
  ["let's meet on 13/1", 'America/New_York', '2026-11-26T14:14:00Z', '2027-01-13T09:00'],
  ['call me today', 'Europe/London', '2026-11-26T20:14:00Z', '2026-11-26T21:00'],
  ['geschlossen vom 21.12.2026 bis 03.01.2027', 'Europe/Berlin', '2027-01-04T10:00:00Z', '2027-01-04T11:00'],
  ['geschlossen vom 21.12.2026 bis 03.01.2027', 'Europe/Berlin', '2027-01-04T23:00:00Z', 'no date'],
])('%j in %s at %s is %s', (text, zone, at, date) => {
  expect(dateIn(text, zone, new Date(at))).toBe(date)
})

test('5/1 is in May for an American who writes English, and in January for everybody else', () => {
  const day = (zone: string, language: 'en' | 'de') =>
    datesIn('on 5/1', language, { now, zone })[0]?.instant.toISOString().slice(0, 10)
  expect(day('America/New_York', 'en')).toBe('2027-05-01')
  expect(day('America/New_York', 'de')).toBe('2027-01-05')
  expect(day('Europe/London', 'en')).toBe('2027-01-05')
})

// Written after the rules, without a look at them.
test.each([
  ['Give me a ring in two hours', 'Europe/London', '2026-11-26T16:14'],
  ['I will be free in about 20 minutes, call then', 'Europe/London', '2026-11-26T14:34'],
  ['Try me in an hour and a half', 'Europe/London', '2026-11-26T15:44'],
  ['Ich bin in anderthalb Stunden wieder erreichbar', 'Europe/Berlin', '2026-11-26T16:44'],
  ['Melde dich bitte in einer Viertelstunde', 'Europe/Berlin', '2026-11-26T15:29'],
  ['Rückruf binnen drei Stunden erbeten', 'Europe/Berlin', '2026-11-26T18:14'],
  ["Let's pick this up after Easter", 'Europe/London', '2027-03-30T09:00'],
  ['We need the samples before Christmas', 'Europe/London', '2026-12-24T09:00'],
  ['Vor Weihnachten brauchen wir das Angebot', 'Europe/Berlin', '2026-12-24T09:00'],
  ['nach Pfingsten passt es besser', 'Europe/Berlin', '2027-05-18T09:00'],
  ['nach Silvester gern', 'Europe/Berlin', '2027-01-04T09:00'],
  ['right after New Year works', 'Europe/London', '2027-01-04T09:00'],
  ['third Thursday in February', 'Europe/London', '2027-02-18T09:00'],
  ['the last Monday of next month', 'Europe/London', '2026-12-28T09:00'],
  ['jeder Termin am zweiten Dienstag im Februar wäre gut', 'Europe/Berlin', '2027-02-09T09:00'],
  ['in der ersten Aprilwoche', 'Europe/Berlin', '2027-04-05T09:00'],
  ['first week of May', 'Europe/London', '2027-05-03T09:00'],
  ['Wednesday to Friday, any time', 'Europe/London', '2026-12-02T09:00'],
  ['9-11am on Tuesday', 'Europe/London', '2026-12-01T09:00'],
  ['am Dienstag von 13 bis 15 Uhr', 'Europe/Berlin', '2026-12-01T13:00'],
  ['Friday 10am Pacific time', 'America/New_York', '2026-11-27T13:00'],
  ['Monday at 9:00 CET', 'Europe/London', '2026-11-30T08:00'],
  ['am Montag um 9 Uhr Ortszeit London', 'Europe/Berlin', '2026-11-30T10:00'],
  ['tomorrow 8am New York time', 'Asia/Tokyo', '2026-11-27T22:00'],
  ['Montag 14 Uhr UTC', 'Europe/Berlin', '2026-11-30T15:00'],
  ['available from 7/12', 'Asia/Kolkata', '2026-12-07T09:00'],
  ['need this by EOW', 'Europe/London', '2026-11-27T09:00'],
  ['by close of business tomorrow', 'Europe/London', '2026-11-27T17:00'],
  ['bis Monatsende', 'Europe/Berlin', '2026-11-30T09:00'],
  ['bis Ende des Jahres', 'Europe/Berlin', '2026-12-31T09:00'],
  ['bis Freitag Feierabend', 'Europe/Berlin', '2026-11-27T17:00'],
  ['Friday at ten past two', 'Europe/London', '2026-11-27T14:10'],
  ['Friday, twenty to five', 'Europe/London', '2026-11-27T16:40'],
  ['Freitag um Viertel vor fünf', 'Europe/Berlin', '2026-11-27T16:45'],
  ['Freitag gegen zehn nach zwei', 'Europe/Berlin', '2026-11-27T14:10'],
  ['Freitag fünf vor halb drei', 'Europe/Berlin', '2026-11-27T14:25'],
  ['Tuesday at half two', 'Europe/London', '2026-12-01T14:30'],
  ['this evening at 7', 'Europe/London', '2026-11-26T19:00'],
  ['heute Abend um 8', 'Europe/Berlin', '2026-11-26T20:00'],
  ['later today', 'Europe/London', '2026-11-26T15:00'],
  ['the day after tomorrow at 4', 'Europe/London', '2026-11-28T16:00'],
  ['übermorgen Vormittag', 'Europe/Berlin', '2026-11-28T09:00'],
  ['Mittwoch in zwei Wochen', 'Europe/Berlin', '2026-12-16T09:00'],
  ['heute in 14 Tagen', 'Europe/Berlin', '2026-12-10T09:00'],
  ['a week from Tuesday', 'Europe/London', '2026-12-08T09:00'],
  ['Friday of next week', 'Europe/London', '2026-12-04T09:00'],
  ['am 15. um 10 Uhr', 'Europe/Berlin', '2026-12-15T10:00'],
  ['on the 3rd at noon', 'Europe/London', '2026-12-03T12:00'],
  ['12th of January at 11', 'Europe/London', '2027-01-12T11:00'],
  ['week commencing 7 December', 'Europe/London', '2026-12-07T09:00'],
  ['in KW 3', 'Europe/Berlin', '2027-01-18T09:00'],
  ['My new mobile is 07700 900123', 'Europe/London', 'no date'],
  ['Reach me at (212) 555-0147', 'Europe/London', 'no date'],
  ['Ring reception on 555 0199 at 3pm tomorrow', 'Europe/London', '2026-11-27T15:00'],
  ['Erreichbar unter 0171/1234567', 'Europe/Berlin', 'no date'],
  ['Tel. 089 12 34 56 78', 'Europe/Berlin', 'no date'],
  ['The pallet is 12 x 80 cm', 'Europe/London', 'no date'],
  ['They want 15% off on 250 seats', 'Europe/London', 'no date'],
  ['budget of 10.12 million', 'Europe/London', 'no date'],
  ['running v2.12 on Windows 11', 'Europe/London', 'no date'],
  ['Software-Version 5.12 ist fehlerhaft', 'Europe/Berlin', 'no date'],
  ['ship to SW1A 2AA London', 'Europe/London', 'no date'],
  ['office at 5 Park Lane', 'Europe/London', 'no date'],
  ['Büro in der Lindenstr. 10, 50674 Köln', 'Europe/Berlin', 'no date'],
  ['arrives on BA 1422', 'Europe/London', 'no date'],
  ['order no. 11/24 is missing', 'Europe/London', 'no date'],
  ['Auftrag 4711-12 fehlt', 'Europe/Berlin', 'no date'],
  ['Rechnung 2026-0312 ist falsch', 'Europe/Berlin', 'no date'],
  ['see page 5/12 of the contract', 'Europe/London', 'no date'],
  ['support is there 24/7', 'Europe/London', 'no date'],
  ['2/3 of the users are happy', 'Europe/London', 'no date'],
  ['any weekday but Friday', 'Europe/London', 'no date'],
  ['Tuesday does not work for me', 'Europe/London', 'no date'],
  ["I can't do Thursday", 'Europe/London', 'no date'],
  ['anything except Monday and Tuesday', 'Europe/London', 'no date'],
  ['Dienstag geht leider nicht', 'Europe/Berlin', 'no date'],
  ['jeder Tag außer Mittwoch', 'Europe/Berlin', 'no date'],
  ['nur nicht am Freitag', 'Europe/Berlin', 'no date'],
  ['Mittwoch passt mir nicht, aber Donnerstag', 'Europe/Berlin', '2026-12-03T09:00'],
  ['Not Tuesday but Wednesday', 'Europe/London', '2026-12-02T09:00'],
  ['I spoke to Anna on Tuesday', 'Europe/London', 'no date'],
  ['Tuesday we had a great call', 'Europe/London', 'no date'],
  ['thanks for your visit on Wednesday', 'Europe/London', 'no date'],
  ['Ich habe am Dienstag mit ihr gesprochen', 'Europe/Berlin', 'no date'],
  ['Danke für Ihre E-Mail vom 20.11.', 'Europe/Berlin', 'no date'],
  ['Wir waren am Montag auf der Messe', 'Europe/Berlin', 'no date'],
  ['letzten Dienstag kam die Lieferung', 'Europe/Berlin', 'no date'],
  ['two weeks ago they signed', 'Europe/London', 'no date'],
  ['they have been down since Monday', 'Europe/London', 'no date'],
  ['Have a nice weekend!', 'Europe/London', 'no date'],
  ['Schönes Wochenende und bis bald!', 'Europe/Berlin', 'no date'],
  ['Guten Morgen Herr Roth', 'Europe/Berlin', 'no date'],
  ['Merry Christmas to you all', 'Europe/London', 'no date'],
  ['we meet every Monday', 'Europe/London', 'no date'],
  ['jeden Dienstag haben wir Jour fixe', 'Europe/Berlin', 'no date'],
  ['She said she would call on Tuesday', 'Europe/London', '2026-12-01T09:00'],
  ['I told him to expect the quote by Friday', 'Europe/London', '2026-11-27T09:00'],
  ['not before Monday', 'Europe/London', '2026-11-30T09:00'],
  ['nicht vor Montag', 'Europe/Berlin', '2026-11-30T09:00'],
  ['no later than Friday', 'Europe/London', '2026-11-27T09:00'],
  ['I got your offer this morning', 'Europe/London', 'no date'],
])('unseen: %j in %s is %s', (text, zone, date) => {
  expect(dateIn(text, zone).split(' or ')).toContain(date)
})

// As salespeople write them.
test.each([
  ['wants pricing for 40 users by Weds', 'Europe/London', '2026-12-02T09:00'],
  ['Board meets on the 14th, chase after that', 'Europe/London', '2026-12-14T09:00'],
  ['Decision expected mid-January', 'Europe/London', '2027-01-15T09:00'],
  ["Let's speak 2nd week of Jan", 'Europe/London', '2027-01-11T09:00'],
  ['demo booked for Thu 3 Dec 14:30-15:30', 'Europe/London', '2026-12-03T14:30'],
  ['Budget opens in April, ping then', 'Europe/London', '2027-04-01T09:00'],
  ['they go live in Q2', 'Europe/London', '2027-04-01T09:00'],
  ['call me back asap, before 4', 'Europe/London', '2026-11-26T16:00'],
  ['I may be in town next week', 'Europe/London', '2026-11-30T09:00'],
  ['See you on May 4th at 9.30am', 'Europe/London', '2027-05-04T09:30'],
  ['Wednesday 10.15 works', 'Europe/London', '2026-12-02T10:15'],
  ['4 Dec @ 11', 'Europe/London', '2026-12-04T11:00'],
  ['Back on Monday the 7th', 'Europe/London', '2026-12-07T09:00'],
  ['Contract ends 31/12/2026', 'Europe/London', '2026-12-31T09:00'],
  ['not until after the summer holidays', 'Europe/London', 'no date'],
  ['within the next 10 days please', 'Europe/London', '2026-12-06T09:00'],
  ['in a fortnight', 'Europe/London', '2026-12-10T09:00'],
  ['first thing tomorrow', 'Europe/London', '2026-11-27T09:00'],
  ['end of play Friday', 'Europe/London', '2026-11-27T17:00'],
  ['by Tuesday lunchtime', 'Europe/London', '2026-12-01T12:00'],
  ['sometime between Christmas and New Year', 'Europe/London', '2026-12-28T09:00'],
  ['He was in Leeds on Tuesday and wants a quote by Friday', 'Europe/London', '2026-11-27T09:00'],
  ['I emailed him on the 20th, nothing back yet', 'Europe/London', 'no date'],
  ['tonight at eight', 'Europe/London', '2026-11-26T20:00'],
  ["3 o'clock Monday", 'Europe/London', '2026-11-30T15:00'],
  ['at 15h on Monday', 'Europe/London', '2026-11-30T15:00'],
  ['Monday 3pm EST', 'America/New_York', '2026-11-30T15:00'],
  ['Monday at noon Eastern', 'America/Los_Angeles', '2026-11-30T09:00'],
  ['Monday 9am ET', 'Europe/London', '2026-11-30T14:00'],
  ['Fr. Weber bittet um Rückruf Mo. 14:30', 'Europe/Berlin', '2026-11-30T14:30'],
  ['Rückruf morgen früh ab 8', 'Europe/Berlin', '2026-11-27T08:00'],
  ['Angebot bis 5.12. fertig machen', 'Europe/Berlin', '2026-12-05T09:00'],
  ['nächste Woche Mittwoch um 11', 'Europe/Berlin', '2026-12-02T11:00'],
  ['kommenden Montag, 10.30 Uhr', 'Europe/Berlin', '2026-11-30T10:30'],
  ['Anfang des Jahres melden wir uns', 'Europe/Berlin', '2027-01-01T09:00 or no date'],
  ['Mitte Januar nachfassen', 'Europe/Berlin', '2027-01-15T09:00'],
  ['Ende Januar entscheidet der Vorstand', 'Europe/Berlin', '2027-01-25T09:00 or 2027-01-31T09:00'],
  ['Herr Kurz hat am Mittwoch angerufen, bitte morgen zurückrufen', 'Europe/Berlin', '2026-11-27T09:00'],
  ['übernächste Woche', 'Europe/Berlin', '2026-12-07T09:00'],
  ['heute Nachmittag', 'Europe/Berlin', '2026-11-26T16:00'],
  ['zwischen 9 und 11 Uhr am Freitag', 'Europe/Berlin', '2026-11-27T09:00'],
  ['Freitag ab halb neun', 'Europe/Berlin', '2026-11-27T08:30'],
  ['Mi, 2.12., 16 Uhr', 'Europe/Berlin', '2026-12-02T16:00'],
  ['vom 3. bis 5. Dezember auf Messe', 'Europe/Berlin', '2026-12-03T09:00'],
  ['in einem halben Jahr', 'Europe/Berlin', '2027-05-26T09:00'],
  ['in zwei bis drei Wochen', 'Europe/Berlin', '2026-12-17T09:00 or 2026-12-10T09:00'],
  ['nicht vor Januar', 'Europe/Berlin', '2027-01-01T09:00'],
  ['erst nach den Feiertagen', 'Europe/Berlin', '2027-01-04T09:00 or no date'],
  ['Wir haben 3 Standorte und 12 Mitarbeiter', 'Europe/Berlin', 'no date'],
  ['Kostet 4.12 Euro pro Stück', 'Europe/Berlin', 'no date'],
  ['Er hat gesagt, er kommt am Montag', 'Europe/Berlin', '2026-11-30T09:00'],
  ['Montagabend um sieben', 'Europe/Berlin', '2026-11-30T19:00'],
  ['am Heiligabend haben wir zu', 'Europe/Berlin', '2026-12-24T09:00 or no date'],
  ['um Mitternacht', 'Europe/Berlin', '2026-11-27T00:00'],
  ['dienstags bin ich nie da', 'Europe/Berlin', 'no date'],
  ['statt Montag lieber Dienstag 9 Uhr', 'Europe/Berlin', '2026-12-01T09:00'],
  ['Termin von Montag auf Mittwoch verschoben', 'Europe/Berlin', '2026-12-02T09:00'],
  ['meeting moved from Monday to Wednesday 2pm', 'Europe/London', '2026-12-02T14:00'],
])('sales note: %j in %s is %s', (text, zone, dates) => {
  const accepted = dates.split(' or ')
  expect(
    dateIn(text, zone)
      .split(' or ')
      .some((date) => accepted.includes(date)),
  ).toBe(true)
})
