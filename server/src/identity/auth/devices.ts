/** The first match wins: browsers whose name also appears in the User-Agent of others come later. */
const programs: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
]

const systems: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/** The name of the program in a `User-Agent`, such as `Firefox on Windows`. */
export function deviceName(userAgent: string | null): string {
  if (userAgent === null || userAgent.trim() === '') return 'An unknown program'
  const [program, system] = [programs, systems].map(
    (patterns) => patterns.find(([pattern]) => pattern.test(userAgent))?.[1],
  )
  if (program === undefined) return (userAgent.split(/[\s/(]/, 1)[0] ?? '').slice(0, 40) || 'An unknown program'
  return system === undefined ? program : `${program} on ${system}`
}
