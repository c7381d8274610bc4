import { useMe } from '../api/me.ts'
import { timeZone as browserZone } from '../preferences/locale.ts'

/** The person's time zone: from their profile, otherwise the browser's. */
export const usePersonZone = (): string => useMe().timeZone ?? browserZone
