import { build } from './build.mjs'
import { announceRunning } from './lock.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root } from './run.mjs'

/** Builds what has changed in this copy of the repository, before the command in `words` runs. */
export async function prepareCheckout(words) {
  if (words[0] === 'start') announceRunning(root)
  await exitOnRefusal(() => build({ log: () => undefined }))
}
