import { Link } from '@tanstack/react-router'
import { Suspense, useContext } from 'react'
import { useFormatter, useLocale, useTranslations } from 'use-intl'
import { type RecordData, type ResourceSchema, titleOf, useResource, valueAt } from '../api/schema.ts'
import { useLabel } from '../messages/labels.ts'
import { resourceViews } from '../registry/resources.ts'
import { domainLink, mailLink, phoneLink } from '../ui/link-address.ts'
import { Avatar, Tag, tintOf, tintOfState } from '../ui/tag.tsx'
import { Time } from '../ui/time.tsx'
import { useChoiceLabel } from './choices.ts'
import { shownType } from './columns.tsx'
import { currencyOf, dayOf, formatMoney, type Money } from './money.ts'
import { ReferenceTitle } from './reference-title.tsx'
import styles from './value.module.css'
import type { Property } from './property.ts'
import { ValueViewsContext } from './value-views.ts'

interface ValueProps {
  resource: ResourceSchema
  property: Property
  record: RecordData
}

/** A value formatted for people. */
export function Value({ resource, property, record }: ValueProps) {
  const value = valueAt(record, property.name)
  const View = useContext(ValueViewsContext)[resource.name]?.[property.name]?.View
  if (property.name === resource.titleField) return <Title resource={resource} record={record} />
  if (property.type === 'embedded')
    return <EmbeddedLink property={property} value={value} state={stateOf(resource, record)} />
  if (value === null || value === undefined || value === '') return undefined
  if (View)
    return (
      <Suspense>
        <View value={value} record={record} />
      </Suspense>
    )
  if (property.name === resource.due?.overdueField) return value === true && <OverdueTag property={property} />
  if (property.name === resource.statusField && property.type !== 'choice')
    return (
      <Tag tint={tintOf(String(value))} hasDot>
        {String(value)}
      </Tag>
    )
  const plain = <Plain property={property} value={value} currency={currencyOf(property, record)} />
  // A record with `email` may have `emails`, of which that is the primary one.
  const all = property.type === 'email' || property.type === 'phone' ? record[`${property.name}s`] : undefined
  if (!Array.isArray(all) || all.length < 2) return plain
  return (
    <span className={styles.title}>
      {plain} <span className={styles.soft}>+{all.length - 1}</span>
    </span>
  )
}

const stateOf = ({ statusField }: ResourceSchema, record: RecordData): unknown =>
  statusField === null ? undefined : valueAt(record, statusField)

function OverdueTag({ property }: { property: Property }) {
  const labelOf = useLabel()
  return <Tag tint="red">{labelOf(property.label)}</Tag>
}

interface TitleProps {
  resource: ResourceSchema
  record: RecordData
}

/** The record's name as a link, with its avatar. */
export const Title = (props: TitleProps) => <RecordLink {...props} className={styles.title} />

interface EmbeddedLinkProps {
  property: Property
  value: unknown
  /** The state of the record that has the value. */
  state: unknown
}

function EmbeddedLink({ property, value, state }: EmbeddedLinkProps) {
  const target = useResource(property.resource ?? '')
  if (!target || typeof value !== 'object' || value === null) return undefined
  if (!resourceViews[target.name]) return <PlaceTag title={titleOf(target, value as RecordData)} state={state} />
  return <RecordLink resource={target} record={value as RecordData} className={styles.link} />
}

/** A record without its own page, such as the stage of a deal. */
const PlaceTag = ({ title, state }: { title: string; state: unknown }) => (
  <Tag tint={tintOfState(state, title)} hasDot>
    {title}
  </Tag>
)

function RecordLink({ resource, record, className }: TitleProps & { className: string | undefined }) {
  const title = titleOf(resource, record)
  return (
    <span className={className}>
      <Avatar name={title} isSquare={!resourceViews[resource.name]?.isPerson} />
      <Link
        to="/$resource/$recordId"
        params={{ resource: resource.name, recordId: record.id }}
        className="truncate"
        tabIndex={-1}
      >
        {title}
      </Link>
    </span>
  )
}

interface PlainProps {
  property: Property
  value: unknown
  /** The currency of an amount. */
  currency: string | undefined
}

function Plain({ property, value, currency }: PlainProps) {
  const t = useTranslations('common')
  const format = useFormatter()
  const locale = useLocale()
  const choiceLabel = useChoiceLabel()
  switch (shownType(property, value)) {
    case 'list':
      return (
        <span className={styles.tags}>
          {(value as string[]).map((tag) => (
            <Tag key={tag} tint={tintOf(tag)}>
              {property.choiceLabels ? choiceLabel(tag, property) : tag}
            </Tag>
          ))}
        </span>
      )
    case 'timestamp':
      return (
        <span className={styles.soft}>
          <Time value={String(value)} />
        </span>
      )
    case 'boolean':
      return value === true ? t('yes') : t('no')
    case 'number':
    case 'integer':
      return typeof value === 'number' ? (
        <span className={styles.number}>{format.number(value, { useGrouping: !property.isYear })}</span>
      ) : (
        String(value)
      )
    case 'decimal':
      return (
        <span className={styles.number}>
          {currency === undefined ? formatDecimal(String(value), locale) : formatMoney(String(value), currency, locale)}
        </span>
      )
    case 'money': {
      const { amount, currency: code } = value as Money
      return <span className={styles.number}>{formatMoney(amount, code, locale)}</span>
    }
    case 'date':
      return (
        <time dateTime={String(value)} className={styles.number}>
          {format.dateTime(dayOf(String(value)), { dateStyle: 'medium', timeZone: 'UTC' })}
        </time>
      )
    case 'currency':
      return <span className="truncate">{currencyName(String(value), locale)}</span>
    case 'country':
      return <span className="truncate">{countryName(String(value), locale)}</span>
    case 'choice':
      return (
        <Tag tint={tintOfState(value, String(value))} hasDot>
          {choiceLabel(String(value), property)}
        </Tag>
      )
    case 'url':
      return (
        <ExternalLink
          href={String(value)}
          text={String(value)
            .replace(/^https?:\/\/(?:www\.)?/, '')
            .replace(/\/$/, '')}
        />
      )
    case 'domain':
      return <ExternalLink href={domainLink(String(value))} text={String(value)} />
    case 'email':
      return <PlainLink href={mailLink(String(value))} text={String(value)} />
    case 'phone':
      return <PlainLink href={phoneLink(String(value))} text={String(value)} />
    case 'reference':
      return <ReferenceLink resourceName={property.resource} id={String(value)} />
    default:
      return <span className="truncate">{typeof value === 'object' ? JSON.stringify(value) : String(value)}</span>
  }
}

/** The name of another record; a link if it has a page. */
function ReferenceLink({ resourceName, id }: { resourceName: string | undefined; id: string }) {
  const title = <ReferenceTitle resourceName={resourceName} id={id} />
  if (resourceName === undefined || !resourceViews[resourceName]) return title
  return (
    <Link
      to="/$resource/$recordId"
      params={{ resource: resourceName, recordId: id }}
      className={styles.link}
      tabIndex={-1}
    >
      {title}
    </Link>
  )
}

const PlainLink = ({ href, text }: { href: string; text: string }) => (
  <a href={href} className="truncate" tabIndex={-1}>
    {text}
  </a>
)

const ExternalLink = ({ href, text }: { href: string; text: string }) => (
  <a href={href} className="truncate" tabIndex={-1} target="_blank" rel="noreferrer">
    {text}
  </a>
)

/** Formats all digits of a decimal with the locale's groups; numbers would be rounded. */
export const formatDecimal = (decimal: string, locale: string): string =>
  new Intl.NumberFormat(locale, { maximumFractionDigits: 19 }).format(decimal as Intl.StringNumericLiteral)

/** `Euro (EUR)` */
export function currencyName(code: string, locale: string): string {
  const name = new Intl.DisplayNames(locale, { type: 'currency', fallback: 'none' }).of(code)
  return name === undefined ? code : `${name} (${code})`
}

export function countryName(code: string, locale: string): string {
  try {
    return new Intl.DisplayNames(locale, { type: 'region' }).of(code) ?? code
  } catch {
    return code
  }
}
