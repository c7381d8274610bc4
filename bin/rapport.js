#!/usr/bin/env node
import '../scripts/node-version.mjs'
import { realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, bundle } from '../scripts/build.mjs'
import { exit } from '../scripts/exit.mjs'
import { announceRunning } from '../scripts/lock.mjs'
import { exitOnRefusal } from '../scripts/refusal.mjs'

const root = dirname(dirname(realpathSync(fileURLToPath(import.meta.url))))
const words = process.argv.slice(2)
if (words[0] === 'start') announceRunning(root)
await exitOnRefusal(() => build({ log: () => undefined }))
const { main } = await import(pathToFileURL(bundle).href)
// Only now: the map of what is loaded first would take a third more memory (scripts/build.mjs).
process.setSourceMapsEnabled(true)
await exit(await main(words))
