import { Link } from '@tanstack/react-router'
import { scaleBand, scaleLinear } from 'd3-scale'
import { memo, type RefObject, useEffect, useId, useMemo, useRef, useState } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import styles from './chart.module.css'
import { useRoving } from './roving.ts'

/** The link of a part of a chart: a list with filters. */
export interface ChartLink {
  to: string
  search: Record<string, string>
}

export interface ChartSeries {
  key: string
  label: string
  /** One of the chart colours of tokens.css. */
  color: 1 | 2 | 3 | 4 | 5
}

export interface ChartColumn {
  key: string
  /** Its full name: `Tuesday, 3 November 2026`. */
  title: string
  /** Its name on the axis: `3 Nov`. */
  tick: string
  values: Readonly<Record<string, number>>
}

interface StackedBarsProps {
  /** Its name for assistive technology. */
  label: string
  columns: readonly ChartColumn[]
  /** From the bottom to the top of each bar. */
  series: readonly ChartSeries[]
  linkOf(column: ChartColumn, series: ChartSeries): ChartLink
}

const height = 220
const margin = { top: 10, right: 14, bottom: 22, left: 34 }

/** Stacked bars. Each part is a link; pointer and focus show the numbers of a column. */
export function StackedBars({ label, columns, series, linkOf }: StackedBarsProps) {
  const id = useId()
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const t = useTranslations('charts')
  const [shownKey, setShownKey] = useState<string>()
  const scales = useMemo(() => scalesOf(columns, width), [columns, width])
  const shown = columns.find(({ key }) => key === shownKey)
  return (
    <div ref={box} className={styles.box}>
      <Legend series={series} />
      <svg
        width={width}
        height={height}
        className={styles.chart}
        role="group"
        aria-label={label}
        aria-describedby={id}
        onPointerLeave={() => setShownKey(undefined)}
      >
        <Axes columns={columns} scales={scales} shownKey={shownKey} onShow={setShownKey} />
        <Bars columns={columns} series={series} linkOf={linkOf} scales={scales} onShow={setShownKey} />
      </svg>
      <p id={id} className="visually-hidden">
        {t('keys')}
      </p>
      {shown && <Numbers column={shown} series={series} left={middleOf(shown, scales)} />}
    </div>
  )
}

type Scales = ReturnType<typeof scalesOf>

function scalesOf(columns: readonly ChartColumn[], width: number) {
  const y = scaleLinear([0, Math.max(1, ...columns.map(totalOf))], [height - margin.bottom, margin.top]).nice(4)
  const x = scaleBand(
    columns.map(({ key }) => key),
    [margin.left, Math.max(width - margin.right, margin.left + 1)],
  ).paddingInner(0.28)
  return { x, y, width }
}

/** The middle of a column, but far enough from the edges for the box with its numbers. */
function middleOf({ key }: ChartColumn, { x, width }: Scales): number {
  const edge = 90
  return Math.min(Math.max((x(key) ?? 0) + x.bandwidth() / 2, edge), Math.max(edge, width - edge))
}

interface AxesProps {
  columns: readonly ChartColumn[]
  scales: Scales
  shownKey: string | undefined
  onShow(key: string): void
}

function Axes({ columns, scales: { x, y, width }, shownKey, onShow }: AxesProps) {
  const format = useFormatter()
  const everyNth = Math.ceil(columns.length / Math.max(2, Math.floor(width / 76)))
  return (
    <g aria-hidden>
      {y
        .ticks(4)
        .filter(Number.isInteger)
        .map((tick) => (
          <g key={tick} transform={`translate(0 ${y(tick)})`}>
            <line x1={margin.left} x2={width - margin.right} className={styles.grid} />
            <text x={margin.left - 8} dy="0.32em" textAnchor="end" className={styles.tick}>
              {format.number(tick, { notation: 'compact' })}
            </text>
          </g>
        ))}
      {columns.map(({ key, tick }, index) => (
        <g key={key} transform={`translate(${x(key) ?? 0} 0)`}>
          {/* The whole column shows the numbers, because low bars are hard to hit. */}
          <rect
            x={(x.bandwidth() - x.step()) / 2}
            y={0}
            width={x.step()}
            height={height - margin.bottom}
            className={styles.column}
            data-shown={key === shownKey || undefined}
            onPointerEnter={() => onShow(key)}
          />
          {(columns.length - 1 - index) % everyNth === 0 && (
            <text x={x.bandwidth() / 2} y={height - 6} textAnchor="middle" className={styles.tick}>
              {tick}
            </text>
          )}
        </g>
      ))}
    </g>
  )
}

interface BarsProps extends Omit<StackedBarsProps, 'label'> {
  scales: Scales
  onShow(key: string | undefined): void
}

/** Memoized on numbers and width: hundreds of links would slow down the pointer. */
const Bars = memo(function Bars({ columns, series, linkOf, scales: { x, y }, onShow }: BarsProps) {
  const t = useTranslations('charts')
  const hide = () => onShow(undefined)
  const stopAt = useRoving(hide)
  const bars = columns.flatMap((column) => barsOf(column, series))
  return bars.map(({ column, one, value, base }, index) => (
    <Link
      key={`${column.key} ${one.key}`}
      {...linkOf(column, one)}
      preload={false}
      className={styles.link}
      aria-label={t('part', { column: column.title, series: one.label, value })}
      onFocus={() => onShow(column.key)}
      onPointerEnter={() => onShow(column.key)}
      onBlur={hide}
      {...stopAt(index, bars.length)}
    >
      <rect
        x={x(column.key)}
        y={y(base + value)}
        width={x.bandwidth()}
        height={Math.max(1, y(base) - y(base + value) - (base > 0 ? 1 : 0))}
        className={styles[`fill${one.color}`]}
      />
    </Link>
  ))
})

const totalOf = ({ values }: ChartColumn): number => Object.values(values).reduce((sum, value) => sum + value, 0)

function barsOf(column: ChartColumn, series: readonly ChartSeries[]) {
  let base = 0
  return series.flatMap((one) => {
    const value = column.values[one.key] ?? 0
    if (value === 0) return []
    const bar = { column, one, value, base }
    base += value
    return [bar]
  })
}

function Legend({ series }: { series: readonly ChartSeries[] }) {
  return (
    <ul className={styles.legend}>
      {series.map(({ key, label, color }) => (
        <li key={key}>
          <span className={`${styles.swatch} ${styles[`swatch${color}`]}`} />
          {label}
        </li>
      ))}
    </ul>
  )
}

/** Shows the numbers of one column above it. Each link already announces its own number. */
function Numbers({ column, series, left }: { column: ChartColumn; series: readonly ChartSeries[]; left: number }) {
  const format = useFormatter()
  return (
    <div className={styles.numbers} style={{ left }} aria-hidden>
      <strong>{column.title}</strong>
      {series.toReversed().map(({ key, label, color }) => (
        <div key={key} className={styles.number}>
          <span className={`${styles.swatch} ${styles[`swatch${color}`]}`} />
          <span>{label}</span>
          <span>{format.number(column.values[key] ?? 0)}</span>
        </div>
      ))}
    </div>
  )
}

/** The current width of an element in pixels. */
function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(640)
  useEffect(() => {
    if (!element.current) return undefined
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.floor(entry.contentRect.width)))
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [element])
  return width
}
