import { escapeHtml } from '../../server/src/platform/http/pages/escape-html.ts'
import type { Report, Row } from './report.ts'

const width = 760
const labelWidth = 230
const rowHeight = 34
const barHeight = 13
const top = 56
const plotWidth = width - labelWidth - 80

/** Both color schemes: GitHub shows the picture as an image, which follows the reader's setting. */
const style = `
text { font: 12px system-ui, sans-serif; fill: #24292f } .title { font-weight: 600; font-size: 14px }
.soft { fill: #57606a } .grid { stroke: #d0d7de } .service { fill: #2f4bd8 } .floor { fill: #a8b1bd }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .soft { fill: #9198a1 } .grid { stroke: #3d444d }
.service { fill: #8ea0ff } .floor { fill: #5b6572 } }`

/** An SVG of requests per second, service and floor, on a logarithmic scale. Undefined if no row has both. */
export function drawChart({ rows, options, takenAt }: Report): string | undefined {
  const connections = Math.max(...rows.map((row) => row.connections ?? 0))
  const usual = rows.some((row) => row.connections === 16) ? 16 : connections
  const shown = rows.filter((row) => row.connections === usual && row.floor !== null)
  const values = shown.flatMap((row) => [row.service.perSecond, row.floor?.perSecond ?? 0]).filter((value) => value > 0)
  if (values.length === 0) return undefined
  const [least, most] = [Math.min(...values), Math.max(...values)].map(Math.log10)
  const [from, to] = [Math.floor(least ?? 0), Math.ceil((most ?? 0) + 0.01)]
  const x = (value: number) => labelWidth + ((Math.log10(value) - from) / (to - from)) * plotWidth
  const height = top + shown.length * rowHeight + 30
  const powers = Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index))
  const title = `Requests per second at ${usual} connections, ${options.contacts.toLocaleString('en')} contacts`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${title}</title>`,
    `<style>${style}</style>`,
    `<text class="title" x="8" y="20">${title}</text>`,
    ...legend(takenAt),
    ...powers.map((power) => gridLine(power, x(power), height - 24)),
    ...shown.flatMap((row, index) => bars(row, top + index * rowHeight, x)),
    '</svg>',
    '',
  ].join('\n')
}

const legend = (takenAt: string): string[] => [
  `<rect class="service" x="8" y="30" width="10" height="10"/><text x="22" y="39">service</text>`,
  `<rect class="floor" x="80" y="30" width="10" height="10"/><text x="94" y="39">floor: same statements without the service</text>`,
  `<text class="soft" x="${width - 8}" y="39" text-anchor="end">${takenAt.slice(0, 10)}, logarithmic scale</text>`,
]

const gridLine = (power: number, at: number, bottom: number): string =>
  `<line class="grid" x1="${at}" x2="${at}" y1="${top - 6}" y2="${bottom}"/>` +
  `<text class="soft" x="${at}" y="${bottom + 16}" text-anchor="middle">${power.toLocaleString('en')}</text>`

function bars({ name, service, floor }: Row, y: number, x: (value: number) => number): string[] {
  const bar = (kind: string, value: number, at: number) =>
    `<rect class="${kind}" x="${labelWidth}" y="${at}" width="${(x(value) - labelWidth).toFixed(1)}" height="${barHeight}"/>` +
    `<text class="soft" x="${(x(value) + 5).toFixed(1)}" y="${at + barHeight - 2}">${Math.round(value).toLocaleString('en')}</text>`
  return [
    `<text x="${labelWidth - 8}" y="${y + barHeight + 4}" text-anchor="end">${escapeHtml(name)}</text>`,
    bar('service', service.perSecond, y),
    ...(floor ? [bar('floor', floor.perSecond, y + barHeight + 1)] : []),
  ]
}
