// Amounts are decimals in strings: as numbers, `0.1 + 0.2` would not be `0.3`, and large ones would lose digits.

interface Scaled {
  digits: bigint
  /** Digits after the decimal point. */
  scale: number
}

function scaled(text: string): Scaled {
  const [whole = '0', fraction = ''] = text.split('.')
  return { digits: BigInt(whole + fraction), scale: fraction.length }
}

function textOf({ digits, scale }: Scaled): string {
  if (scale === 0) return String(digits)
  const sign = digits < 0n ? '-' : ''
  const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, '0')
  const fraction = text.slice(-scale).replace(/0+$/, '')
  return sign + text.slice(0, -scale) + (fraction === '' ? '' : `.${fraction}`)
}

const atScale = ({ digits, scale }: Scaled, wanted: number): bigint => digits * 10n ** BigInt(wanted - scale)

/** The exact sum of two decimals. */
export function add(one: string, other: string): string {
  const [left, right] = [scaled(one), scaled(other)]
  const scale = Math.max(left.scale, right.scale)
  return textOf({ digits: atScale(left, scale) + atScale(right, scale), scale })
}

/** An exact percentage of a decimal; `percent` is an integer and may be negative. */
export function percentOf(decimal: string, percent: number): string {
  const { digits, scale } = scaled(decimal)
  return textOf({ digits: digits * BigInt(percent), scale: scale + 2 })
}

/** Negative if the first decimal is smaller, positive if it is larger, otherwise 0. */
export function compare(one: string, other: string): number {
  const [left, right] = [scaled(one), scaled(other)]
  const scale = Math.max(left.scale, right.scale)
  const difference = atScale(left, scale) - atScale(right, scale)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
