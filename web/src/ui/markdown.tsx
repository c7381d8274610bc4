import { createContext, Fragment, memo, type ReactNode, use } from 'react'
import { useTranslations } from 'use-intl'
import { type Block, blocksOf } from './markdown-blocks.ts'
import { type Inline, partsOf } from './markdown-inline.ts'
import { type MarkedWords, type Marker, markerFor } from './markdown-marks.ts'
import styles from './markdown.module.css'

/** The current names of people, by id. A mention of anybody else has the name that they had when it was written. */
export const MentionNames = createContext<Readonly<Record<string, string>>>({})

interface MarkdownProps {
  text: string
  /** Words to highlight. */
  marked?: readonly MarkedWords[]
}

const noWords: readonly MarkedWords[] = []

/**
 * A Markdown text: paragraphs, headings, lists, quotes, code, emphasis and links. Renders React elements and never
 * HTML, so that a note from an unknown sender cannot run scripts.
 */
export const Markdown = memo(({ text, marked = noWords }: MarkdownProps) => {
  const blocks = blocksOf(text)
  return <div className={styles.markdown}>{showBlocks(blocks, markerFor(text, blocks, marked))}</div>
})
Markdown.displayName = 'Markdown'

// The parts of a text have no identity, and all change together.
const each = <T,>(items: readonly T[], show: (item: T) => ReactNode): ReactNode =>
  items.map((item, index) => <Fragment key={String(index)}>{show(item)}</Fragment>)

const showBlocks = (blocks: readonly Block[], mark: Marker): ReactNode =>
  each(blocks, (block) => showBlock(block, mark))

function showBlock(block: Block, mark: Marker): ReactNode {
  switch (block.type) {
    case 'paragraph':
      return <p>{showParts(partsOf(block.text), mark)}</p>
    case 'heading':
      // Not a heading of the page, because its level would depend on where the text is shown.
      return (
        <p>
          <strong>{showParts(partsOf(block.text), mark)}</strong>
        </p>
      )
    case 'code':
      return (
        <pre>
          <code>{showText(block.text, mark)}</code>
        </pre>
      )
    case 'quote':
      return <blockquote>{showBlocks(block.blocks, mark)}</blockquote>
    case 'rule':
      return <hr />
    case 'list': {
      const items = each(block.items, (item) => <li>{showItem(item, mark)}</li>)
      return block.start === undefined ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>
    }
  }
}

/** The text of an item needs no paragraph. */
const showItem = ([first, ...others]: readonly Block[], mark: Marker): ReactNode =>
  first?.type === 'paragraph' ? (
    <>
      {showParts(partsOf(first.text), mark)}
      {showBlocks(others, mark)}
    </>
  ) : (
    first && showBlocks([first, ...others], mark)
  )

const showParts = (parts: readonly Inline[], mark: Marker): ReactNode => each(parts, (part) => showPart(part, mark))

const showText = (text: string, mark: Marker): ReactNode =>
  each(mark(text), (piece) => (piece.isMarked ? <mark>{piece.text}</mark> : piece.text))

function showPart(part: Inline, mark: Marker): ReactNode {
  switch (part.type) {
    case 'text':
      return showText(part.text, mark)
    case 'break':
      return <br />
    case 'code':
      return <code>{showText(part.text, mark)}</code>
    case 'strong':
      return <strong>{showParts(part.parts, mark)}</strong>
    case 'emphasis':
      return <em>{showParts(part.parts, mark)}</em>
    case 'deleted':
      return <del>{showParts(part.parts, mark)}</del>
    case 'mention':
      return (
        <Mention userId={part.userId} written={textOf(part.parts)}>
          {showParts(part.parts, mark)}
        </Mention>
      )
    case 'link':
      return (
        <a href={part.href} target="_blank" rel="noreferrer">
          {showParts(part.parts, mark)}
        </a>
      )
  }
}

const textOf = (parts: readonly Inline[]): string => parts.map((part) => ('text' in part ? part.text : '')).join('')

interface MentionProps {
  userId: string
  /** `@` and the name at that time. */
  written: string
  children: ReactNode
}

function Mention({ userId, written, children }: MentionProps) {
  const t = useTranslations('authors')
  const name = use(MentionNames)[userId]
  const isCurrent = name === undefined ? written !== '@' : written === `@${name}`
  return <span className={styles.mention}>{isCurrent ? children : `@${name ?? t('formerMember')}`}</span>
}
