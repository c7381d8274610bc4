import type { Messages } from './messages.ts'

type Key = keyof Messages['refusals']

/** What the service says about a value (docs/errors.md), and the text of the catalogue that says the same to people. */
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
]

/** A text of the catalogue in the page's language. */
type Translate = (key: Key, values: Record<string, string>) => string
let translate: Translate | undefined

/** Called once, with what the page's language says. */
export function setRefusals(translator: Translate): void {
  translate = translator
}

/** What the service said about a value, in the language of the page; unknown messages stay as they are. */
export function refusalText(message: string): string {
  for (const [form, key] of known) {
    const groups = form.exec(message)
    if (groups && translate) return translate(key, { ...groups.groups })
  }
  return message
}
