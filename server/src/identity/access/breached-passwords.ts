import { createHash } from 'node:crypto'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { StartError } from '../../platform/database/start-error.ts'

/**
 * Has the password been part of a breach? Looks in the list that ships with the service, ignoring case and encoding, and
 * in the operator's file of hashes, for exactly this password.
 */
export async function isBreached(password: string): Promise<boolean> {
  if ((await bundledList()).has(fold(password))) return true
  return operatorFile !== undefined && (await isInFile(operatorFile, password))
}

/** One form for all cases, widths and encodings of a text (full case folding, near enough). */
export const fold = (text: string): string => text.normalize('NFKC').toUpperCase().toLowerCase()

let loaded: Promise<ReadonlySet<string>> | undefined

/** 44,150 passwords of 12 characters or more (server/data/README.md). Loaded with the first use: they take 5 MB. */
const bundledList = (): Promise<ReadonlySet<string>> => (loaded ??= readBundledList())

async function readBundledList(): Promise<ReadonlySet<string>> {
  const file = createRequire(import.meta.url).resolve('#data/breached-passwords.txt')
  const text = await readFile(file, 'utf8')
  return new Set(text.trimEnd().split('\n').map(fold))
}

let operatorFile: string | undefined

/**
 * Sets BREACHED_PASSWORDS_FILE for this process: SHA-1 hashes in hexadecimal, sorted, one a line, each followed by a colon
 * and a count or by nothing, as Have I Been Pwned publishes them. Error: `StartError` when the file is something else.
 */
export async function setBreachedPasswordsFile(file: string | undefined): Promise<void> {
  if (file !== undefined) await assertSorted(file)
  operatorFile = file
}

const linePattern = /^([0-9A-F]{40})(?::\d{1,12})?$/i

/** More than a line and what is left of the one before it. */
const chunkBytes = 160

interface Line {
  /** Where it starts in the file, in bytes. */
  start: number
  /** In capitals. */
  hash: string
}

/** The first line that starts at this position or after it; undefined at the end of the file. */
async function lineAt(handle: FileHandle, position: number): Promise<Line | undefined> {
  const from = Math.max(0, position - 1)
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(chunkBytes), 0, chunkBytes, from)
  const text = buffer.toString('latin1', 0, bytesRead)
  const skipped = position === 0 ? 0 : text.indexOf('\n') + 1
  if (position > 0 && skipped === 0 && bytesRead === chunkBytes) throw new Error('a line is too long')
  if ((position > 0 && skipped === 0) || skipped >= text.length) return undefined
  const hash = linePattern.exec(text.slice(skipped).split(/\r?\n/, 1)[0] ?? '')?.[1]
  if (hash === undefined) throw new Error('a line is not a SHA-1 hash in hexadecimal')
  return { start: from + skipped, hash: hash.toUpperCase() }
}

/** A binary search on the file itself, which may have 40 GB: about 35 reads. Opened each time, so that it can be replaced. */
async function isInFile(file: string, password: string): Promise<boolean> {
  const handle = await open(file)
  try {
    const { size } = await handle.stat()
    for (const text of new Set([password, password.normalize('NFKC')])) {
      const wanted = createHash('sha1').update(text).digest('hex').toUpperCase()
      if (await containsHash(handle, size, wanted)) return true
    }
    return false
  } finally {
    await handle.close()
  }
}

async function containsHash(handle: FileHandle, size: number, wanted: string): Promise<boolean> {
  let [low, high] = [0, size]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const line = await lineAt(handle, middle)
    if (line?.hash === wanted) return true
    if (!line || line.start >= high || line.hash > wanted) high = middle
    else low = line.start + 1
  }
  return false
}

const sampleCount = 64

/** Finds out at the start, and not at somebody's first password, that the file cannot be searched. */
async function assertSorted(file: string): Promise<void> {
  try {
    const handle = await open(file)
    try {
      const { size } = await handle.stat()
      let last = ''
      for (let sample = 0; sample <= sampleCount; sample++) {
        const line = await lineAt(handle, Math.floor((sample * size) / sampleCount))
        if (line && line.hash < last) throw new Error('its lines are not sorted by hash')
        last = line?.hash ?? last
      }
      if (last === '') throw new Error('it is empty')
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw new StartError(
      `BREACHED_PASSWORDS_FILE (${file}) cannot be used: ${(error as Error).message}. Expected sorted SHA-1 hashes, one per line.`,
      { cause: error },
    )
  }
}
