import { createHash } from 'node:crypto'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { StartError } from '../../platform/database/start-error.ts'

/**
 * Whether the password has appeared in a breach: in the bundled list, which is compared without case and encoding, or
 * exactly like this in the operator's file of hashes.
 */
export async function isBreached(password: string): Promise<boolean> {
  if ((await bundledList()).has(fold(password))) return true
  return operatorFile !== undefined && (await isInFile(operatorFile, password))
}

/** Folds case, width and encoding (close to full case folding). */
export const fold = (text: string): string => text.normalize('NFKC').toUpperCase().toLowerCase()

let loaded: Promise<ReadonlySet<string>> | undefined

/** 44,150 passwords of 12 characters or more (server/data/README.md). Loaded on first use: they take 5 MB. */
const bundledList = (): Promise<ReadonlySet<string>> => (loaded ??= readBundledList())

async function readBundledList(): Promise<ReadonlySet<string>> {
  const file = createRequire(import.meta.url).resolve('#data/breached-passwords.txt')
  const text = await readFile(file, 'utf8')
  return new Set(text.trimEnd().split('\n').map(fold))
}

let operatorFile: string | undefined

/**
 * Sets BREACHED_PASSWORDS_FILE for this process: sorted SHA-1 hashes in hexadecimal, one per line, optionally followed
 * by a colon and a count, as published by Have I Been Pwned. Throws `StartError` if the file has another format.
 */
export async function setBreachedPasswordsFile(file: string | undefined): Promise<void> {
  if (file !== undefined) await assertSorted(file)
  operatorFile = file
}

const linePattern = /^([0-9A-F]{40})(?::\d{1,12})?$/i

/** More than one line and the rest of the line before it. */
const chunkBytes = 160

interface Line {
  /** Where it starts in the file, in bytes. */
  start: number
  /** Upper case. */
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

/** Binary search in the file, which may be 40 GB: about 35 reads. Opened each time, so that it can be replaced. */
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

/** Detects an unusable file at the start, not when the first password is set. */
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
