import { Link } from '@tanstack/react-router'
import { geoEqualEarth, geoPath } from 'd3-geo'
import { scaleThreshold } from 'd3-scale'
import codes from 'i18n-iso-countries/codes.json'
import { useId, useState } from 'react'
import { feature } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'
import { useFormatter, useLocale, useTranslations } from 'use-intl'
import atlas from 'world-atlas/countries-110m.json'
import type { ChartLink } from './chart.tsx'
import styles from './chart.module.css'
import { useRoving } from './roving.ts'

interface CountryCount {
  /** ISO 3166-1 alpha-2. */
  code: string
  count: number
}

interface WorldMapProps {
  /** Its name for assistive technology. */
  label: string
  countries: readonly CountryCount[]
  linkOf(code: string): ChartLink
}

const width = 960
const height = 440

const topology = atlas as unknown as Topology<{ countries: GeometryCollection<{ name: string }> }>
/** The shapes have numeric codes. */
const alpha2 = new Map((codes as string[][]).map(([two = '', , numeric = '']) => [numeric, two]))

const world = feature(topology, topology.objects.countries)
// Antarctica has no contacts, and would take a fifth of the height.
world.features = world.features.filter(({ id }) => id !== '010')
const pathOf = geoPath(geoEqualEarth().fitSize([width, height], world))

const shapes = world.features.map((shape, index) => ({
  key: `${String(shape.id)} ${index}`,
  code: alpha2.get(String(shape.id)),
  path: pathOf(shape) ?? '',
}))
const codesOfShapes = new Set(shapes.map(({ code }) => code))

const steps = [1, 2, 3, 4] as const

/** A country's name in the language of the page. */
function useCountryName(): (code: string) => string {
  const names = new Intl.DisplayNames([useLocale()], { type: 'region', fallback: 'code' })
  return (code) => {
    try {
      return names.of(code) ?? code
    } catch {
      return code
    }
  }
}

/**
 * A map in which countries with higher counts are darker. Each country is a link; those too small to click are listed
 * below.
 */
export function WorldMap({ label, countries, linkOf }: WorldMapProps) {
  const id = useId()
  const t = useTranslations('charts')
  const nameOf = useCountryName()
  const stopAt = useRoving()
  const [shown, setShown] = useState<string>()
  const counts = new Map(countries.map(({ code, count }) => [code, count]))
  const max = Math.max(1, ...counts.values())
  // A few countries have most contacts, so each step starts at a multiple of the previous one.
  const thresholds = [0.25, 0.5, 0.75].map((power) => Math.ceil(max ** power))
  const stepOf = scaleThreshold<number, number>(thresholds, steps)
  const countOf = (code: string | undefined) => (code === undefined ? 0 : (counts.get(code) ?? 0))
  const filled = shapes.filter(({ code }) => countOf(code) > 0)
  const others = countries.filter(({ code }) => !codesOfShapes.has(code))
  const textOf = (code: string) => t('country', { name: nameOf(code), count: countOf(code) })
  return (
    <div className={styles.box}>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        className={styles.map}
        role="group"
        aria-label={label}
        aria-describedby={id}
        onPointerLeave={() => setShown(undefined)}
      >
        <g aria-hidden>
          {shapes.map(
            ({ key, code, path }) => countOf(code) === 0 && <path key={key} d={path} className={styles.country} />,
          )}
        </g>
        {filled.map(({ key, code = '', path }, index) => (
          <Link
            key={key}
            {...linkOf(code)}
            preload={false}
            className={styles.link}
            aria-label={textOf(code)}
            onFocus={() => setShown(code)}
            onBlur={() => setShown(undefined)}
            onPointerEnter={() => setShown(code)}
            {...stopAt(index, filled.length)}
          >
            <path d={path} className={`${styles.country} ${styles[`step${stepOf(countOf(code))}`]}`} />
          </Link>
        ))}
      </svg>
      <p id={id} className="visually-hidden">
        {t('keys')}
      </p>
      <div className={styles.mapFoot}>
        <Steps starts={[1, ...thresholds, max + 1]} />
        <p aria-hidden>{shown !== undefined && textOf(shown)}</p>
      </div>
      {others.length > 0 && (
        <p className={styles.others}>
          {others.map(({ code }) => (
            <Link key={code} {...linkOf(code)} preload={false}>
              {textOf(code)}
            </Link>
          ))}
        </p>
      )}
    </div>
  )
}

/** The legend: a step reaches from its start to the start of the next one. */
function Steps({ starts }: { starts: readonly number[] }) {
  const t = useTranslations('charts')
  const format = useFormatter()
  const shown = steps
    .map((step) => ({ step, from: starts[step - 1] ?? 0, to: (starts[step] ?? 0) - 1 }))
    .filter(({ from, to }) => from <= to)
  return (
    <ul className={styles.legend}>
      {shown.map(({ step, from, to }) => (
        <li key={step}>
          <span className={`${styles.swatch} ${styles[`key${step}`]}`} />
          {from === to ? format.number(from) : t('range', { from, to })}
        </li>
      ))}
    </ul>
  )
}
