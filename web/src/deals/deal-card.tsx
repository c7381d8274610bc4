import { Link } from '@tanstack/react-router'
import { ArrowRight, CircleCheck, CircleX, Ellipsis, RotateCcw, TimerReset } from 'lucide-react'
import { useFormatter, useLocale, useNow, useTranslations } from 'use-intl'
import { useResource, titleOf, type RecordData } from '../api/schema.ts'
import type { CardStop } from '../ui/board/board-column.tsx'
import { IconButton } from '../ui/button.tsx'
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../ui/menu.tsx'
import { Avatar } from '../ui/tag.tsx'
import { Tip } from '../ui/tip.tsx'
import { dayOf, formatMoney } from '../views/money.ts'
import { PeopleHere } from '../views/people-here.tsx'
import { useReferenceTitle } from '../views/reference-title.tsx'
import styles from './deals.module.css'
import { type Deal, rottingDays, type Stage } from './records.ts'

interface DealCardProps {
  deal: Deal
  stage: Stage
  stop: CardStop
  canMove: boolean
  onMenu(deal: Deal, button: Element): void
}

/** A deal on the board: name, company, amount, expected close date and owner. */
export function DealCard({ deal, stage, stop, canMove, onMenu }: DealCardProps) {
  const t = useTranslations('deals')
  const locale = useLocale()
  const format = useFormatter()
  const companies = useResource('companies')
  const company = deal.company as RecordData | null
  return (
    <article className={styles.card}>
      <div className={styles.cardTop}>
        <Link
          to="/$resource/$recordId"
          params={{ resource: 'deals', recordId: deal.id }}
          className={`${styles.cardName} truncate`}
          {...stop}
        >
          {deal.name}
        </Link>
        <RottingMark deal={deal} stage={stage} />
        {canMove && (
          <IconButton
            icon={Ellipsis}
            label={t('actionsFor', { name: deal.name })}
            hasTip={false}
            aria-haspopup="menu"
            tabIndex={-1}
            onClick={({ currentTarget }) => onMenu(deal, currentTarget)}
          />
        )}
      </div>
      <div className={styles.cardLine}>
        {company && companies ? (
          <>
            <Avatar name={titleOf(companies, company)} isSquare />
            <span className="truncate">{titleOf(companies, company)}</span>
          </>
        ) : undefined}
        <PeopleHere recordId={deal.id} isOver />
      </div>
      <div className={styles.cardLine}>
        <strong className={`${styles.amount} truncate`}>
          {deal.amount === null ? '' : formatMoney(deal.amount, deal.currency, locale)}
        </strong>
        {deal.lostReason === null ? (
          deal.expectedCloseDate !== null && (
            <time dateTime={deal.expectedCloseDate} className={styles.day}>
              {format.dateTime(dayOf(deal.expectedCloseDate), { day: 'numeric', month: 'short', timeZone: 'UTC' })}
            </time>
          )
        ) : (
          <span className={`${styles.lostReason} truncate`}>{deal.lostReason}</span>
        )}
        {deal.ownerId !== null && <OwnerMark id={deal.ownerId} />}
      </div>
    </article>
  )
}

function OwnerMark({ id }: { id: string }) {
  const t = useTranslations('deals')
  const name = useReferenceTitle('members', id)
  if (name === undefined) return <span className={styles.noOwner} />
  return (
    <span title={t('owner', { name })}>
      <Avatar name={name} />
      <span className="visually-hidden">{t('owner', { name })}</span>
    </span>
  )
}

/** Milliseconds. */
const clockInterval = 60_000

function RottingMark({ deal, stage }: Pick<DealCardProps, 'deal' | 'stage'>) {
  const t = useTranslations('deals')
  const now = useNow({ updateInterval: clockInterval })
  const days = rottingDays(deal, stage, now)
  if (days === undefined) return undefined
  return (
    <Tip label={t('rotting', { days })}>
      <span className={styles.rotting}>
        <TimerReset size={14} strokeWidth={2} aria-hidden />
        <span className="visually-hidden">{t('rotting', { days })}</span>
      </span>
    </Tip>
  )
}

interface CardMenuProps {
  deal: Deal
  stages: readonly Stage[]
  /** The button that opened the menu. */
  anchor: Element
  onMove(stage: Stage): void
  onClose(): void
}

/** The menu of the card whose button was pressed. */
export function CardMenu({ deal, stages, anchor, onMove, onClose }: CardMenuProps) {
  const t = useTranslations('deals')
  const current = stages.find(({ id }) => id === deal.stageId)
  if (!current) return undefined
  return (
    <Menu anchor={anchor} onClose={onClose}>
      <CloseItems stages={stages} current={current} onMove={onMove} />
      <MenuLabel>{t('moveTo')}</MenuLabel>
      {stages.map((stage) => (
        <MenuItem key={stage.id} icon={ArrowRight} disabled={stage === current} onSelect={() => onMove(stage)}>
          {stage.name}
        </MenuItem>
      ))}
    </Menu>
  )
}

interface CloseItemsProps {
  stages: readonly Stage[]
  current: Stage
  onMove(stage: Stage): void
}

/** Won and Lost for an open deal, Reopen for a closed one. */
function CloseItems({ stages, current, onMove }: CloseItemsProps) {
  const t = useTranslations('deals')
  const [open, won, lost] = (['open', 'won', 'lost'] as const).map((kind) => stages.find((one) => one.kind === kind))
  const isOpen = current.kind === 'open'
  return (
    <>
      {isOpen && won && (
        <MenuItem icon={CircleCheck} onSelect={() => onMove(won)}>
          {t('markWon')}
        </MenuItem>
      )}
      {isOpen && lost && (
        <MenuItem icon={CircleX} onSelect={() => onMove(lost)}>
          {t('markLost')}
        </MenuItem>
      )}
      {!isOpen && open && (
        <MenuItem icon={RotateCcw} onSelect={() => onMove(open)}>
          {t('reopen')}
        </MenuItem>
      )}
      <MenuSeparator />
    </>
  )
}
