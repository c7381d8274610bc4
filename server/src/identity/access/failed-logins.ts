import type { Logger } from 'pino'

/** A login attempt that failed, or was rejected because too many had failed before. */
export interface FailedLogin {
  /** The IP address; for IPv6, its /64 network. */
  address: string
  /** A keyed hash of the account, so that the log contains no names. */
  account: string
  isRefused: boolean
}

export interface FailedLogins {
  record(failure: FailedLogin): void
  /** Logs the current counts. */
  close(): void
}

interface LoginCounts {
  failed: number
  refused: number
  accounts: Set<string>
}

const windowMilliseconds = 60_000
/** Further addresses within a minute share one line; further accounts of an address are not counted separately. */
const max = { addresses: 100, accounts: 1000 }

/**
 * Logs failed logins by address, whether the account exists or not: the first one immediately, the rest of the minute
 * in one line per address. Password spraying becomes visible, and a flood does not fill the disk.
 */
export function createFailedLogins(log: Logger): FailedLogins {
  let counts = new Map<string, LoginCounts>()
  let others = newCounts()
  let since = 0
  let timer: NodeJS.Timeout | undefined

  function close(): void {
    clearTimeout(timer)
    timer = undefined
    const window = { since: new Date(since).toISOString() }
    for (const [address, { accounts, failed, refused }] of counts) {
      if (failed + refused === 1) continue
      log.warn({ address, failed, refused, accounts: accounts.size, ...window }, 'logins failed from one address')
    }
    const { accounts, failed, refused } = others
    if (failed + refused > 0) {
      log.warn({ failed, refused, accounts: accounts.size, ...window }, 'logins failed from more addresses')
    }
    counts = new Map()
    others = newCounts()
  }

  function open(): void {
    since = Date.now()
    timer = setTimeout(close, windowMilliseconds).unref()
  }

  return {
    record({ address, account, isRefused }) {
      if (timer === undefined) open()
      let entry = counts.get(address)
      if (entry === undefined && counts.size < max.addresses) {
        entry = newCounts()
        counts.set(address, entry)
        log.warn({ address, isRefused }, 'a login failed')
      }
      entry ??= others
      if (isRefused) entry.refused++
      else entry.failed++
      if (entry.accounts.size < max.accounts) entry.accounts.add(account)
    },
    close,
  }
}

const newCounts = (): LoginCounts => ({ failed: 0, refused: 0, accounts: new Set() })
