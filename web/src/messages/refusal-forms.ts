import { createTranslator } from 'use-intl'
import { type Language, localeOf } from '../preferences/locale.ts'
import type english from './en/refusals.json'
import { setRefusals } from './refusals.ts'

type Key = keyof typeof english

/** The service's messages about a value (docs/errors.md), and the catalogue's text for each. */
const known: readonly (readonly [RegExp, Key])[] = [
  [/^is required$/, 'required'],
  [/^must not be (?:empty|null|blank)$/, 'empty'],
  [/^expected at most (?<limit>\S+) characters$/, 'characters'],
  [/^expected at most (?<limit>\S+) (?:items|properties)$/, 'items'],
  [/^expected at least (?<limit>-?[\d.]+)$/, 'minimum'],
  [/^expected at most (?<limit>-?[\d.]+)$/, 'maximum'],
  [/^expected an integer$/, 'integer'],
  [/^expected a (?:number|decimal)$/, 'number'],
  [/^expected a string with a decimal number/, 'decimal'],
  [/^expected an? (?:string|boolean|array|object)/, 'kind'],
  [/^expected an email address/, 'email'],
  [/^expected a phone number/, 'phone'],
  [/^expected a domain/, 'domain'],
  [/^expected an http or https URL/, 'url'],
  [/^expected an IANA time zone/, 'timeZone'],
  [/^expected a two-letter ISO 3166-1 code/, 'country'],
  [/^expected an ISO 4217 currency code/, 'currency'],
  [/^expected a month/, 'month'],
  [/^expected a date/, 'date'],
  [/^expected a timestamp/, 'instant'],
  [/^expected a handle/, 'handle'],
  [/^must match /, 'form'],
  [/^key "(?<key>[^"]*)" must match /, 'key'],
  [/^is read-only$/, 'readOnly'],
  [/^cannot be combined with /, 'combined'],
  [/^is taken by another .*\((?<id>\w{36})\)$/, 'takenBy'],
  [/^is taken by another /, 'taken'],
  [/^is already a member.*\((?<id>\w{36})\)$/, 'memberNamed'],
  [/^is already a member/, 'member'],
  [/^only one entry can be primary$/, 'onePrimary'],
  [/^is the same as entry (?<index>\d+)$/, 'sameEntry'],
  [/^disagrees with (?<name>\w+), /, 'disagrees'],
  [/^other entries exist: /, 'otherEntries'],
  [/^there are (?<limit>\d+) entries already$/, 'fullList'],
  [/^must be empty for a current job$/, 'currentJob'],
  [/^must not be earlier than start$/, 'beforeStart'],
  [/^expected at least one type/, 'eventType'],
  [/^expected at least one scope$/, 'scope'],
  [/^must start with https:/, 'https'],
  [/^must not contain a name or a password/, 'urlCredentials'],
  [/^contains an invalid name of a header$/, 'headerName'],
  [/^must not contain (?<name>\S+), which the service sets$/, 'headerReserved'],
  [/^contains (?<name>\S+) twice$/, 'headerTwice'],
  [/^(?<name>\S+): expected 1 to 2000 printable ASCII characters$/, 'headerValue'],
]

/** People count entries from 1. */
const valuesOf = ({ groups }: RegExpExecArray): object => ({ ...groups, number: Number(groups?.index) + 1 })

/** Loads the translations of error messages, which no page needs before its first error. */
export async function loadRefusals(language: Language): Promise<void> {
  const texts = (await (language === 'de' ? import('./de/refusals.json') : import('./en/refusals.json'))).default
  const translate = createTranslator({ locale: localeOf(language), messages: { refusals: texts } as never })
  setRefusals((message) => {
    for (const [form, key] of known) {
      const groups = form.exec(message)
      if (groups) return translate(`refusals.${key}` as never, valuesOf(groups) as never)
    }
    return message
  })
}
