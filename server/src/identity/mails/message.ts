import { escapeHtml } from '../../platform/http/pages/escape-html.ts'
import type { Language } from '../../platform/model/languages.ts'

/** The contents of a mail, before they become plain text and HTML. */
export interface Message {
  language: Language
  subject: string
  /** In order: each is a paragraph, or a link on a separate line. */
  parts: readonly (string | { label: string; url: string })[]
}

/** A mail's text in both forms. */
export interface MailBody {
  language: Language
  text: string
  html: string
  links: string[]
}

/**
 * Renders both forms. The HTML has no images, scripts or external content, and sets no colours, so that dark mode
 * works.
 */
export function renderBody({ language, parts }: Message): MailBody {
  const links = parts.flatMap((part) => (typeof part === 'string' ? [] : [part.url]))
  const text = parts.map((part) => (typeof part === 'string' ? part : `${part.label}:\n${part.url}`)).join('\n\n')
  const html = parts.map((part) => `<p>${typeof part === 'string' ? escapeHtml(part) : anchor(part)}</p>`)
  return { language, text: `${text}\n`, html: [head(language), ...html, '</body></html>', ''].join('\n'), links }
}

const head = (language: Language) => `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<style>:root { color-scheme: light dark }</style></head>
<body style="font: 16px/1.5 sans-serif; max-width: 36em; margin: 1em">`

/** Also shows the URL, so that the reader can check or copy it. */
const anchor = ({ label, url }: { label: string; url: string }): string =>
  `<a href="${escapeHtml(url)}">${escapeHtml(label)}</a><br><small style="word-break: break-all">${escapeHtml(url)}</small>`

const maxNameLength = 60

/**
 * Makes text that somebody else chose (the name of a person, an organization or a device) safe for our mails: one short
 * line in which mail programs detect no link.
 */
export function sanitizeName(name: string): string {
  const line = name
    .normalize('NFKC')
    // Control characters, line separators, bidirectional overrides and invisible characters.
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
