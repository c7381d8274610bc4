import dns from 'node:dns'

/** What the name servers are asked with: milliseconds for each try. */
const options = { timeout: 1200, tries: 2 }

/**
 * A resolver for one question. It works beside the threads of the process: names that somebody else chose, and whose
 * servers may never answer, must not hold up those that hash passwords (getaddrinfo(3) would).
 */
function createResolver(): dns.promises.Resolver {
  const created = new dns.promises.Resolver(options)
  // A resolver asks the machine's servers, whatever this process was told to ask.
  created.setServers(dns.getServers())
  return created
}

/** Every address of a name, IPv4 first; empty when it has none. */
export async function resolveAddresses(name: string, signal: AbortSignal): Promise<string[]> {
  const dnsResolver = createResolver()
  const answers = await withCancellation(dnsResolver, signal, () =>
    Promise.allSettled([dnsResolver.resolve4(name), dnsResolver.resolve6(name)]),
  )
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
}

/** Every address that the machine itself knows for a name: its hosts file counts, as for a name that the operator wrote. */
export async function lookUpAddresses(name: string, signal: AbortSignal): Promise<string[]> {
  const found = await Promise.race([dns.promises.lookup(name, { all: true, verbatim: true }), aborted(signal)]).catch(
    () => [],
  )
  return found.map(({ address }) => address)
}

/** The TXT records of a name, each with its parts put together; empty when there are none. Errors: of the name servers. */
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
