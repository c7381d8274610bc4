import qrcode from 'qrcode-generator'
import { useMemo } from 'react'
import styles from './profile.module.css'

/**
 * A QR code, drawn locally because its content is secret. Dark on light in every theme, which all scanners can read.
 */
export function QrCode({ content, label }: { content: string; label: string }) {
  const { size, path } = useMemo(() => draw(content), [content])
  return (
    <figure aria-label={label} className={styles.qrCode}>
      <svg viewBox={`-4 -4 ${size + 8} ${size + 8}`} aria-hidden>
        <path d={path} fill="currentColor" />
      </svg>
    </figure>
  )
}

function draw(content: string): { size: number; path: string } {
  const code = qrcode(0, 'M')
  code.addData(content)
  code.make()
  const size = code.getModuleCount()
  const modules = Array.from({ length: size * size }, (_, index) => [Math.floor(index / size), index % size] as const)
  const dark = modules.filter(([row, column]) => code.isDark(row, column))
  return { size, path: dark.map(([row, column]) => `M${column} ${row}h1v1h-1z`).join('') }
}
