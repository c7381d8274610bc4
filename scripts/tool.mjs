import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, bundleTo } from './build.mjs'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root } from './run.mjs'

/**
 * Builds the service, bundles `lab/<folder>/main.ts` and the programs that it starts (`roles`), and runs its `main`
 * with the arguments of this process. Exits with its exit code.
 */
export async function runFolder(folder, roles = []) {
  const sources = join(root, 'lab', folder)
  const bundle = join(root, `server/dist/${folder}.js`)
  await exitOnRefusal(async () => {
    await ensureInstalled(root, { development: true, log: console.error })
    await build({ log: console.error })
    await bundleTo(join(sources, 'main.ts'), bundle)
    for (const role of roles) {
      await bundleTo(join(sources, `roles/${role}.ts`), join(root, `server/dist/${folder}-${role}.js`))
    }
  })
  const { main } = await import(pathToFileURL(bundle).href)
  await exit(await main(process.argv.slice(2), root))
}
