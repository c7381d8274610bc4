const plain = /^[+-]?\d+(?:\.\d+)?$/
const scientific = /^([+-]?)(\d{1,20})(?:\.(\d{1,20}))?e([+-]?\d{1,2})$/i
/** Spaces and apostrophes only group digits. */
const grouped = /^[+-]?\d{1,3}(?:([ \u00a0\u2009\u202f'’])\d{3})(?:\1\d{3})*(?:[.,]\d+)?$/
/** Two commas, or a comma before a point, can only group digits; the same in languages that use them the other way. */
const commaGroups = /^[+-]?\d{1,3}(?:(?:,\d{2,3})+,\d{3}(?:\.\d+)?|,\d{3}\.\d+)$/
const pointGroups = /^[+-]?\d{1,3}(?:(?:\.\d{3}){2,}(?:,\d+)?|\.\d{3},\d+)$/
/** `1,234` could be either number. */
const decimalComma = /^(?![+-]?[1-9]\d{0,2},\d{3}$)[+-]?\d+,\d+$/

/** The number as `1234.5`, if the text can mean only one; undefined for `1,234`, `$5`, `1.5M` and `51-200`. */
export function plainNumber(text: string): string | undefined {
  const bare = text.trim().replace(/^[\u2212]/, '-')
  const digits = withoutGroups(bare) ?? shifted(bare)
  return digits?.replace(/^\+/, '')
}

function withoutGroups(text: string): string | undefined {
  if (plain.test(text)) return text
  if (grouped.test(text)) return text.replace(/[ \u00a0\u2009\u202f'’]/g, '').replace(',', '.')
  if (commaGroups.test(text)) return text.replaceAll(',', '')
  if (pointGroups.test(text)) return text.replaceAll('.', '').replace(',', '.')
  return decimalComma.test(text) ? text.replace(',', '.') : undefined
}

/** `1.5e6` becomes `1500000`. */
function shifted(text: string): string | undefined {
  const [matched, sign = '', whole = '', fraction = '', power] = scientific.exec(text) ?? []
  if (matched === undefined) return undefined
  const point = whole.length + Number(power)
  const digits = `${'0'.repeat(Math.max(0, 1 - point))}${whole}${fraction}`.padEnd(Math.max(point, 0), '0')
  const at = Math.max(point, 1)
  const rest = digits.slice(at).replace(/0+$/, '')
  return `${sign}${digits.slice(0, at)}${rest === '' ? '' : `.${rest}`}`
}
