import { type KeyboardEvent, useState } from 'react'
import { useLocale, useTranslations } from 'use-intl'
import { useOrganization } from '../api/me.ts'
import { classes } from '../ui/classes.ts'
import field from '../ui/field.module.css'
import { useFinish, type ValueEditorProps } from './editing.ts'
import type { Money } from './money.ts'
import { Unreadable, useNumbers } from '../ui/use-numbers.ts'
import styles from './value-editor.module.css'

/** Edits an amount with its currency in place; an empty amount removes it. */
export function MoneyEditor({ property, value, typed, onCommit, onCancel }: ValueEditorProps) {
  const { money, setAmount, setCurrency, read } = useMoney(value, typed)
  const { finish, onKeyDown } = useFinish({ valueOf: () => read(money), onCommit, onCancel })
  return (
    <span
      className={styles.pair}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget)) finish(undefined)
      }}
    >
      <input
        autoFocus
        aria-label={property.label}
        inputMode="decimal"
        className={styles.input}
        value={money.amount}
        onFocus={(event) => typed === undefined && event.target.select()}
        onChange={(event) => setAmount(event.target.value)}
        onKeyDown={(event) => {
          // The currency comes next.
          if (event.key === 'Tab' && !event.shiftKey) event.stopPropagation()
          else onKeyDown(event)
        }}
      />
      <CurrencySelect
        className={styles.input}
        value={money.currency}
        onChange={setCurrency}
        onKeyDown={(event) => {
          // The amount comes before it.
          if (event.key === 'Tab' && event.shiftKey) event.stopPropagation()
          else onKeyDown(event)
        }}
      />
    </span>
  )
}

interface MoneyInputProps {
  input: object
  value: unknown
  onChange(value: Money | null): void
  /** Called with the reason while the amount is invalid, otherwise with undefined. */
  onProblem(problem: string | undefined): void
}

/** Form inputs for an amount and its currency. */
export function MoneyInput({ input, value, onChange, onProblem }: MoneyInputProps) {
  const { money, setAmount, setCurrency, read } = useMoney(value)
  const changed = (entered: Money) => {
    const found = read(entered)
    onProblem(found instanceof Unreadable ? found.problem : undefined)
    if (!(found instanceof Unreadable)) onChange(found)
  }
  return (
    <span className={styles.pairInput}>
      <input
        {...input}
        type="text"
        inputMode="decimal"
        className={field.input}
        value={money.amount}
        onChange={(event) => changed(setAmount(event.target.value))}
      />
      <CurrencySelect
        className={field.input}
        value={money.currency}
        onChange={(currency) => changed(setCurrency(currency))}
      />
    </span>
  )
}

interface CurrencySelectProps {
  className: string | undefined
  value: string
  onChange(currency: string): void
  onKeyDown?(event: KeyboardEvent): void
}

function CurrencySelect({ className, value, onChange, onKeyDown }: CurrencySelectProps) {
  const t = useTranslations('list')
  const names = new Intl.DisplayNames(useLocale(), { type: 'currency' })
  return (
    <select
      aria-label={t('currency')}
      className={classes(className, styles.currency)}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={onKeyDown}
    >
      {Intl.supportedValuesOf('currency').map((code) => (
        <option key={code} value={code}>
          {`${code} · ${names.of(code) ?? ''}`}
        </option>
      ))}
    </select>
  )
}

/** An input for an amount with its currency: pasting an amount with a currency also selects that currency. */
function useMoney(value: unknown, typed?: string) {
  const { defaultCurrency } = useOrganization()
  const numbers = useNumbers()
  const [money, setMoney] = useState<Money>(() => {
    if (value instanceof Unreadable) return value.entered as Money
    const { amount = '', currency = defaultCurrency } = Object(value) as Partial<Money>
    return { amount: typed ?? numbers.write(amount), currency }
  })
  const set = (changed: Money) => {
    setMoney(changed)
    return changed
  }
  return {
    money,
    setAmount(amount: string) {
      const found = numbers.read(amount)
      const pasted = found instanceof Unreadable ? undefined : found.currency
      return set({ amount, currency: pasted ?? money.currency })
    },
    setCurrency: (currency: string) => set({ ...money, currency }),
    read({ amount, currency }: Money): Money | null | Unreadable {
      if (amount.trim() === '') return null
      const found = numbers.read(amount)
      if (found instanceof Unreadable) return new Unreadable({ amount, currency }, found.problem)
      return { amount: found.decimal, currency }
    },
  }
}
