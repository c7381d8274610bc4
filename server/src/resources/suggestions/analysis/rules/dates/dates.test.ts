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
