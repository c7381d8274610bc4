import type { Config } from '../config.ts'
import type { Database } from '../platform/database/database.ts'
import { sql } from '../platform/model/sql.ts'
import type { Rapport } from './open.ts'

/** Base URLs of the three families of routes. */
export interface Addresses {
  baseUrl: string
  authUrl: string
  teamBaseUrl: string
}

/** Where callers reach a service, without a slash at the end. */
export interface PublishedAddresses {
  root: string
  authOrigin?: string
}

type AddressSettings = Pick<Config, 'publicUrl' | 'authOrigin'>

/** The addresses of a service that listens on `url`. */
export const addressesOfService = ({ publicUrl, authOrigin }: AddressSettings, url: string): PublishedAddresses => ({
  root: publicUrl ?? url,
  ...(authOrigin !== undefined && { authOrigin }),
})

const name = 'service_addresses'

/**
 * Publishes where the service is reached, for commands that run elsewhere without its settings. The service that
 * started last wins.
 */
export async function publishAddresses(database: Database, addresses: PublishedAddresses): Promise<void> {
  await database.crossTenantQuery(
    'know where the service is reached',
    sql`insert into instance (name, value) values (${name}, ${JSON.stringify(addresses)})
      on conflict (name) do update set value = excluded.value`,
  )
}

/**
 * The addresses that a command prints: from its own settings, else from those of the service, else where a service
 * would listen.
 */
export async function addressesOf({ config, database, isShared }: Rapport): Promise<Addresses> {
  const published = isShared ? await publishedAddresses(database) : undefined
  const root = config.publicUrl ?? published?.root ?? localUrl(config.host, config.port)
  const authUrl = config.authOrigin ?? published?.authOrigin ?? root
  return { baseUrl: `${root}/v5`, authUrl, teamBaseUrl: root }
}

/** The origin of the web application. */
export const originOf = (addresses: PublishedAddresses | undefined): string | undefined =>
  addresses && (addresses.authOrigin ?? addresses.root)

export async function publishedAddresses(database: Database): Promise<PublishedAddresses | undefined> {
  const [row] = await database.crossTenantQuery<{ value: string }>(
    'know where the service is reached',
    sql`select value from instance where name = ${name}`,
  )
  return row && (JSON.parse(row.value) as PublishedAddresses)
}

/** A URL that callers on this machine can use: a wildcard address becomes the loopback address. */
export function localUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
