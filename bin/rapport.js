#!/usr/bin/env node
import '../scripts/node-version.mjs'
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { bundle } from '../scripts/bundle.mjs'
import { exit } from '../scripts/exit.mjs'

const words = process.argv.slice(2)
// The package that `npm pack` makes is already built, and contains neither the sources nor the scripts that build them.
if (existsSync(new URL('../server/src', import.meta.url))) {
  const { prepareCheckout } = await import('../scripts/prepare-checkout.mjs')
  await prepareCheckout(words)
}
const { main } = await import(pathToFileURL(bundle).href)
await exit(await main(words))
