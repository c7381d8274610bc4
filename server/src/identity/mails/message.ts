import { escapeHtml } from '../../platform/http/escape-html.ts'

/** What a mail says, before it becomes plain text and HTML. */
export interface Message {
  subject: string
  /** In their order: a paragraph each, or a link on a line of its own. */
  parts: readonly (string | { label: string; url: string })[]
}

/** A mail's text in both forms. */
export interface MailBody {
  text: string
  html: string
  links: string[]
}

/**
 * Both forms. The HTML has no picture, no script and nothing that is fetched; with no colour of its own but the reader's,
 * it can be read in the dark.
 */
export function renderBody({ parts }: Message): MailBody {
  const links = parts.flatMap((part) => (typeof part === 'string' ? [] : [part.url]))
  const text = parts.map((part) => (typeof part === 'string' ? part : `${part.label}:\n${part.url}`)).join('\n\n')
  const html = parts.map((part) => `<p>${typeof part === 'string' ? escapeHtml(part) : anchor(part)}</p>`)
  return { text: `${text}\n`, html: [head, ...html, '</body></html>', ''].join('\n'), links }
}

const head = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<style>:root { color-scheme: light dark }</style></head>
<body style="font: 16px/1.5 sans-serif; max-width: 36em; margin: 1em">`

/** The address is shown too: whoever reads it sees where it leads, or copies it. */
const anchor = ({ label, url }: { label: string; url: string }): string =>
  `<a href="${escapeHtml(url)}">${escapeHtml(label)}</a><br><small style="word-break: break-all">${escapeHtml(url)}</small>`

const maxNameLength = 60

/**
 * What a stranger chose (the name of a person, an organization, a device) as it may stand in a mail of ours: one line, not
 * long, and nothing in it that a mail program would make a link of.
 */
export function sanitizeName(name: string): string {
  const line = name
    .normalize('NFKC')
    // Control characters, line separators, and what turns the direction of the text around or cannot be seen.
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]+/gu, ' ')
    .replace(/([.:@/\\。])(?=\S)/gu, '$1 ')
    .replace(/\s+/gu, ' ')
    .trim()
  const characters = [...line]
  return characters.length > maxNameLength
    ? `${characters
        .slice(0, maxNameLength - 1)
        .join('')
        .trimEnd()}…`
    : line
}
