import { useFormatter, useLocale, useTranslations } from 'use-intl'
import { formatMoney } from '../views/money.ts'
import tags from '../ui/tag.module.css'
import styles from './deals.module.css'
import { add } from './decimals.ts'
import { type DealSum, type Stage, stageTint } from './records.ts'

interface ColumnHeadProps {
  stage: Stage
  /** One per currency; undefined while loading. */
  sums: readonly DealSum[] | undefined
}

/** The name of a stage with the number of its deals, their total and their weighted total. */
export function ColumnHead({ stage, sums }: ColumnHeadProps) {
  const t = useTranslations('deals')
  const format = useFormatter()
  const locale = useLocale()
  const count = sums?.reduce((total, sum) => total + sum.count, 0)
  const total = sums && joinSums(sums, 'sum', locale)
  const weighted = sums && stage.kind === 'open' ? joinSums(sums, 'weightedSum', locale) : ''
  return (
    <>
      <div className={styles.headLine}>
        <span className={`${styles.stageDot} ${tags[stageTint(stage)]}`} aria-hidden />
        <span className={`${styles.stageName} truncate`} aria-hidden>
          {stage.name}
        </span>
        {count !== undefined && (
          <span className={styles.count}>
            {format.number(count)}
            <span className="visually-hidden"> {t('deals', { count })}</span>
          </span>
        )}
      </div>
      <p className={`${styles.total} truncate`} title={total}>
        {total}
      </p>
      {weighted !== '' && (
        <p className={`${styles.weighted} truncate`} title={t('weightedText', { percent: stage.probability })}>
          {t('weighted', { total: weighted })}
        </p>
      )}
    </>
  )
}

/** Totals of several stages, one per currency: `€12,000 + $900`. Empty if no deal has an amount. */
export function joinSums(sums: readonly DealSum[], key: 'sum' | 'weightedSum', locale: string): string {
  const totals = new Map<string, string>()
  for (const sum of sums) totals.set(sum.currency, add(totals.get(sum.currency) ?? '0', sum[key]))
  return [...totals]
    .filter(([, total]) => total !== '0')
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([currency, total]) => formatMoney(rounded(total), currency, locale))
    .join(' + ')
}

/** Drops the cents, which nobody needs in a total. */
const rounded = (total: string): string => total.split('.')[0] ?? total
