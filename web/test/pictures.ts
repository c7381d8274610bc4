import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { inflateSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'

/** The pictures of the documentation, with which the tests compare. */
export const picturesFolder = fileURLToPath(new URL('../../docs/application/pictures', import.meta.url))

/** Takes a picture once two in a row are equal, so that nothing is still loading. */
export async function takePicture(page: Page): Promise<Buffer> {
  await page.evaluate('document.fonts.ready')
  await page.evaluate(replaceIds)
  for (let last = await page.screenshot(); ;) {
    const next = await page.screenshot()
    if (next.equals(last)) return next
    last = next
  }
}

/** Ids differ in each run, so pictures show a fixed one. */
const replaceIds = `{
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const { data } = texts.currentNode
    const replaced = data.replace(/\\b([a-z]{3})_[0-9a-f]{32}\\b/g, '$1_01997f3c5a6e7b4d8c2f9e1a0b3d5c7f')
    if (replaced !== data) texts.currentNode.data = replaced
  }
}`

/** Identifies how this machine renders: other fonts or another anti-aliasing make pictures that cannot be compared. */
export async function renderingOf(browser: Browser): Promise<string> {
  const font = readFileSync(
    createRequire(import.meta.url).resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2'),
  )
  const page = await browser.newPage({ viewport: { width: 400, height: 200 } })
  await page.setContent(`<style>
    @font-face { font-family: Probe; src: url(data:font/woff2;base64,${font.toString('base64')}); font-weight: 100 900 }
    body { font: 13px Probe } code { font-family: monospace } p { border: 1px solid #ccc; border-radius: 7px }
    </style><p>Rapport 0123456789 <b>contacts</b> <code>org_0123</code></p><select><option>Euro</select><input type=checkbox>
    <svg width="60" height="60"><path d="M3 3 L50 20 A 20 20 0 0 1 9 50 Z" fill="#45c" stroke="#000" stroke-width="1.75"/></svg>`)
  const picture = await takePicture(page)
  await page.close()
  return createHash('sha256').update(decode(picture).pixels).digest('hex')
}

/** Anti-aliasing of corners and curves varies by one level between runs. */
const tolerance = 2

/** The number of pixels that differ visibly; undefined if the pictures have different sizes. */
export function differingPixels(one: Buffer, other: Buffer): number | undefined {
  const [first, second] = [decode(one), decode(other)]
  if (first.width !== second.width || first.pixels.length !== second.pixels.length) return undefined
  const differs = (at: number) => Math.abs((first.pixels[at] ?? 0) - (second.pixels[at] ?? 0)) > tolerance
  let count = 0
  for (let at = 0; at < first.pixels.length; at += channels) {
    if (differs(at) || differs(at + 1) || differs(at + 2)) count++
  }
  return count
}

const channels = 3

/** Parses a PNG from Chromium: 8 bits per channel, RGB, without palette and interlacing. */
function decode(file: Buffer): { width: number; pixels: Buffer } {
  const chunks = [...chunksOf(file)]
  const header = chunks.find(({ type }) => type === 'IHDR')?.content
  if (header?.readUInt16BE(8) !== 0x0802) throw new Error('This PNG is not one of 8-bit red, green and blue.')
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const data = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ content }) => content)))
  const size = width * channels
  const pixels = Buffer.alloc(size * height)
  for (let row = 0; row < height; row++) {
    const filter = data[row * (size + 1)] ?? 0
    for (let index = 0; index < size; index++) {
      const at = row * size + index
      pixels[at] = (data[row * (size + 1) + 1 + index] ?? 0) + predict(filter, pixels, at, index, size)
    }
  }
  return { width, pixels }
}

function* chunksOf(file: Buffer): Generator<{ type: string; content: Buffer }> {
  for (let at = 8; at < file.length;) {
    const length = file.readUInt32BE(at)
    yield { type: file.toString('latin1', at + 4, at + 8), content: file.subarray(at + 8, at + 8 + length) }
    at += length + 12
  }
}

/** The predictors of PNG filters (section 9 of the specification), from the bytes to the left and above. */
function predict(filter: number, pixels: Buffer, at: number, index: number, size: number): number {
  const left = index < channels ? 0 : (pixels[at - channels] ?? 0)
  const above = pixels[at - size] ?? 0
  if (filter < 4) return [0, left, above, (left + above) >> 1][filter] ?? 0
  const corner = index < channels ? 0 : (pixels[at - size - channels] ?? 0)
  const [byLeft, byAbove] = [Math.abs(above - corner), Math.abs(left - corner)]
  const byCorner = Math.abs(left + above - 2 * corner)
  if (byLeft <= byAbove && byLeft <= byCorner) return left
  return byAbove <= byCorner ? above : corner
}
