import type { Logger } from 'pino'

/** An attempt to log in that failed, or that was refused because too many had failed before. */
export interface FailedLogin {
  /** The network address: for IPv6 its /64. */
  address: string
  /** What stands for the account: a keyed hash, so that the log names nobody. */
  account: string
  isRefused: boolean
}

export interface FailedLogins {
  record(failure: FailedLogin): void
  /** Logs what was counted so far. */
  close(): void
}

interface LoginCounts {
  failed: number
  refused: number
  accounts: Set<string>
}

const windowMilliseconds = 60_000
/** Beyond these, addresses of one minute share a line, and accounts of one address are no longer told apart. */
const max = { addresses: 100, accounts: 1000 }

/**
 * Tells the log which addresses fail to log in, known account or not: the first time at once, and the rest of a minute in one
 * line for each address. So password spraying shows, and a flood of it does not fill the disk.
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
