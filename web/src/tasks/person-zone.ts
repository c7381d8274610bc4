import { useMe } from '../api/me.ts'
import { timeZone as browserZone } from '../preferences/locale.ts'

/** The time zone in which the person's days begin: that of their profile, otherwise the browser's. */
export const usePersonZone = (): string => useMe().timeZone ?? browserZone
