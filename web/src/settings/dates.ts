/** The day of a time in this browser's time zone, as `<input type="date">` writes it. */
export function toDateInput(time: string | null | undefined): string | undefined {
  if (!time) return undefined
  const date = new Date(time)
  const pad = (number: number) => String(number).padStart(2, '0')
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`
}

/** The first moment of a day in this browser's time zone. */
export const startOfDay = (day: string | undefined): string | undefined =>
  day ? new Date(`${day}T00:00:00`).toISOString() : undefined

/** The last moment of a day in this browser's time zone. */
export const endOfDay = (day: string | undefined): string | undefined =>
  day ? new Date(`${day}T23:59:59.999`).toISOString() : undefined

export const isPast = (time: string): boolean => new Date(time) < new Date()
