import { type KeyboardEvent, useState } from 'react'
import { useLocale, useTranslations } from 'use-intl'
import { useOrganization } from '../api/me.ts'
import { classes } from '../ui/classes.ts'
import field from '../ui/field.module.css'
import { useFinish, type ValueEditorProps } from './editing.ts'
import { isMoney, type Money } from './money.ts'
import styles from './value-editor.module.css'

/** Edits an amount with its currency in place; an empty amount removes it. */
export function MoneyEditor({ property, value, typed, onCommit, onCancel }: ValueEditorProps) {
  const [money, setMoney] = useMoney(value)
  const [amount, setAmount] = useState(typed ?? money.amount)
  const entered = { ...money, amount }
  const { finish, onKeyDown } = useFinish({ valueOf: () => moneyValue(entered), onCommit, onCancel })
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
        value={amount}
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
        onChange={(currency) => setMoney({ ...money, currency })}
        onKeyDown={onKeyDown}
      />
    </span>
  )
}

interface MoneyInputProps {
  input: object
  value: unknown
  onChange(value: Money | null): void
}

/** The inputs of a form for an amount with its currency. */
export function MoneyInput({ input, value, onChange }: MoneyInputProps) {
  const [money, setMoney] = useMoney(value)
  const change = (changed: Money) => {
    setMoney(changed)
    onChange(moneyValue(changed))
  }
  return (
    <span className={styles.pairInput}>
      <input
        {...input}
        type="text"
        inputMode="decimal"
        className={field.input}
        value={money.amount}
        onChange={(event) => change({ ...money, amount: event.target.value })}
      />
      <CurrencySelect
        className={field.input}
        value={money.currency}
        onChange={(currency) => change({ ...money, currency })}
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

function useMoney(value: unknown) {
  const { defaultCurrency } = useOrganization()
  return useState<Money>(isMoney(value) ? value : { amount: '', currency: defaultCurrency })
}

const moneyValue = ({ amount, currency }: Money): Money | null =>
  amount.trim() === '' ? null : { amount: amount.trim(), currency }
