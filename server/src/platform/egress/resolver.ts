import dns from 'node:dns'

/** DNS queries: `timeout` is in milliseconds for each try. */
const options = { timeout: 1200, tries: 2 }

/** Does not use the thread pool (unlike getaddrinfo(3)): slow name servers must not delay password hashing. */
function createResolver(): dns.promises.Resolver {
  const created = new dns.promises.Resolver(options)
  // A new resolver uses the system's servers, even if this process was configured with others.
  created.setServers(dns.getServers())
  return created
}

/** All addresses of a name, IPv4 first; empty if it has none. */
export async function resolveAddresses(name: string, signal: AbortSignal): Promise<string[]> {
  const dnsResolver = createResolver()
  const answers = await withCancellation(dnsResolver, signal, () =>
    Promise.allSettled([dnsResolver.resolve4(name), dnsResolver.resolve6(name)]),
  )
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
}

/** All addresses that the system knows for a name, including its hosts file: for names that the operator configured. */
export async function lookUpAddresses(name: string, signal: AbortSignal): Promise<string[]> {
  const found = await Promise.race([dns.promises.lookup(name, { all: true, verbatim: true }), aborted(signal)]).catch(
    () => [],
  )
  return found.map(({ address }) => address)
}

/** The TXT records of a name, each joined from its parts; an empty list without any. Throws DNS errors. */
export async function resolveTexts(name: string): Promise<string[]> {
  const dnsResolver = createResolver()
  const records = await withCancellation(dnsResolver, AbortSignal.timeout(2500), () =>
    dnsResolver.resolveTxt(name),
  ).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENODATA' || error.code === 'ENOTFOUND') return []
    throw error
  })
  return records.map((parts) => parts.join(''))
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }))

async function withCancellation<Result>(
  dnsResolver: dns.promises.Resolver,
  signal: AbortSignal,
  query: () => Promise<Result>,
): Promise<Result> {
  const cancel = () => dnsResolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    return await query()
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}
