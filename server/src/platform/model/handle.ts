/** Profiles are directly below the host (except for its own pages), or below one of these prefixes. */
interface Network {
  prefixes: ReadonlySet<string>
  /** The network's own pages; undefined if every profile is below a prefix. */
  reservedPages: ReadonlySet<string> | undefined
}

const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(' '))

const facebook: Network = {
  prefixes: wordSet('pg'),
  reservedPages: wordSet(
    'ads business dialog events fundraisers gaming groups hashtag help login marketplace media messages p pages people permalink photo photos plugins policies posts privacy public reel search settings share sharer stories story terms videos watch',
  ),
}
const github: Network = {
  prefixes: wordSet('orgs sponsors'),
  reservedPages: wordSet(
    'about account apps blog codespaces collections contact customer-stories dashboard enterprise events explore features issues join login marketplace new notifications organizations pricing pulls readme search security settings signup site stars team topics trending users',
  ),
}
const instagram: Network = {
  prefixes: wordSet('_u'),
  reservedPages: wordSet(
    'about accounts api ar challenge developer direct explore legal login p press privacy reel reels stories tv web',
  ),
}
const twitter: Network = {
  prefixes: new Set(),
  reservedPages: wordSet(
    'about account compose download explore hashtag home i intent jobs login logout messages notifications oauth privacy search settings share signup tos who_to_follow',
  ),
}
const linkedin: Network = { prefixes: wordSet('in company school showcase'), reservedPages: undefined }

const networks = new Map<string, Network>([
  ['facebook', facebook],
  ['fb', facebook],
  ['github', github],
  ['instagram', instagram],
  ['linkedin', linkedin],
  ['twitter', twitter],
  ['x', twitter],
])

const hostNames = [...networks.keys()].join('|')

/** The URL of a profile, with or without its scheme, including the hosts of mobile and translated pages. */
const profileUrl = new RegExp(
  `^(?:(?:https?:)?//)?(?:(?:www|m|mobile|web|[a-z]{2}(?:-[a-z]{2})?)\\.)?(${hostNames})\\.com(?:/(?:#!/)?|(?=[?#])|$)(.*)$`,
  'i',
)
const networkHost = new RegExp(`^(?:.*\\.)?(?:${hostNames})\\.com$`, 'i')

/** From a handle (with or without `@`) or a profile's URL; undefined for other URLs, such as that of a post. */
export function bareHandle(value: string): string | undefined {
  if (plainHandle.test(value)) return value
  const [, name = '', path = value.trim()] = profileUrl.exec(value.trim()) ?? []
  const segments = path
    .replace(/[?#].*$/s, '')
    .replace(/\/+$/, '')
    .split('/')
  const found = segmentOf(segments, networks.get(name.toLowerCase()))
  const bare = found === undefined ? undefined : decoded(found.replace(/^@/, ''))
  return bare !== undefined && isHandle(bare) ? bare : undefined
}

/** The path segment with the handle. Without a host, `in/ada` and `company/acme` are common forms. */
function segmentOf([first = '', second]: readonly string[], network: Network | undefined): string | undefined {
  const word = first.toLowerCase()
  const { prefixes, reservedPages } = network ?? linkedin
  if (prefixes.has(word)) return second ?? (network ? undefined : first)
  if (network) return reservedPages && !reservedPages.has(word) ? first : undefined
  return second === undefined ? first : undefined
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment).normalize('NFC')
  } catch {
    return undefined
  }
}

/** Fast check that accepts most handles. */
const plainHandle = /^[\w-]{1,100}$/
const handlePattern = /^(?!\.+$)[\p{L}\p{N}._-][\p{L}\p{M}\p{N}._-]{0,99}$/u

/** Rejects names of scripts and hosts. */
const isHandle = (bare: string): boolean => handlePattern.test(bare) && !/\.php$/i.test(bare) && !networkHost.test(bare)
