import { Fragment, memo, type ReactNode } from 'react'
import { type Block, blocksOf } from './markdown-blocks.ts'
import { type Inline, partsOf } from './markdown-inline.ts'
import styles from './markdown.module.css'

/**
 * A text in Markdown: paragraphs, headings, lists, quotes, code, emphasis and links. It becomes elements of the page and
 * never HTML, so a note from an unknown sender can run nothing.
 */
export const Markdown = memo(({ text }: { text: string }) => (
  <div className={styles.markdown}>{showBlocks(blocksOf(text))}</div>
))
Markdown.displayName = 'Markdown'

// The parts of a text have no identity, and all change together.
const each = <T,>(items: readonly T[], show: (item: T) => ReactNode): ReactNode =>
  items.map((item, index) => <Fragment key={String(index)}>{show(item)}</Fragment>)

const showBlocks = (blocks: readonly Block[]): ReactNode => each(blocks, showBlock)

function showBlock(block: Block): ReactNode {
  switch (block.type) {
    case 'paragraph':
      return <p>{showParts(partsOf(block.text))}</p>
    case 'heading':
      // Not a heading of the page: its level would depend on where the text is shown.
      return (
        <p>
          <strong>{showParts(partsOf(block.text))}</strong>
        </p>
      )
    case 'code':
      return (
        <pre>
          <code>{block.text}</code>
        </pre>
      )
    case 'quote':
      return <blockquote>{showBlocks(block.blocks)}</blockquote>
    case 'rule':
      return <hr />
    case 'list': {
      const items = each(block.items, (item) => <li>{showItem(item)}</li>)
      return block.start === undefined ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>
    }
  }
}

/** The text of an item needs no paragraph of its own. */
const showItem = ([first, ...others]: readonly Block[]): ReactNode =>
  first?.type === 'paragraph' ? (
    <>
      {showParts(partsOf(first.text))}
      {showBlocks(others)}
    </>
  ) : (
    first && showBlocks([first, ...others])
  )

const showParts = (parts: readonly Inline[]): ReactNode => each(parts, showPart)

function showPart(part: Inline): ReactNode {
  switch (part.type) {
    case 'text':
      return part.text
    case 'break':
      return <br />
    case 'code':
      return <code>{part.text}</code>
    case 'strong':
      return <strong>{showParts(part.parts)}</strong>
    case 'emphasis':
      return <em>{showParts(part.parts)}</em>
    case 'deleted':
      return <del>{showParts(part.parts)}</del>
    case 'link':
      return (
        <a href={part.href} target="_blank" rel="noreferrer">
          {showParts(part.parts)}
        </a>
      )
  }
}
