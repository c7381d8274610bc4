/** The Swedish locale formats days and times like the API. */
const wallFormat = (zone: string) =>
  new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })

/** Local date and time at an instant: `2026-11-03 17:30:00`. */
const wallOf = (moment: Date, zone: string): string => wallFormat(zone).format(moment)

/** `2026-11-03` */
export const dayIn = (zone: string, moment: Date): string => wallOf(moment, zone).slice(0, 10)

/** `17:30` */
export const timeIn = (zone: string, moment: Date): string => wallOf(moment, zone).slice(11, 16)

/** The day some days later. */
export const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T12:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)

/** The instant at which the zone's local time is this day and time. */
export function momentOf(day: string, time: string, zone: string): Date {
  const wall = Date.parse(`${day}T${time}Z`)
  const offsetAt = (moment: number) => Date.parse(`${wallOf(new Date(moment), zone).replace(' ', 'T')}Z`) - moment
  // Around a change of summer time, the first guess used the offset of the other side.
  const guess = wall - offsetAt(wall)
  return new Date(wall - offsetAt(guess))
}
