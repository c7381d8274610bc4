const focusable = 'a[href], button:not([disabled]), input:not([disabled]), textarea, [tabindex="0"]'

/**
 * Call it before an item is removed from its list: the next item gets the focus if the removed one had it, otherwise the
 * one before it, otherwise what comes before the list. The focus is never lost.
 */
export function leaveItem(inside: Element | null): void {
  const item = inside?.closest('li')
  if (!item) return
  const neighbor = item.nextElementSibling ?? item.previousElementSibling
  const region = item.closest('section')
  const settle = () => {
    if (item.isConnected && item.contains(document.activeElement)) return requestAnimationFrame(settle)
    const isLost = document.activeElement === null || document.activeElement === document.body
    const target = neighbor?.isConnected ? neighbor.querySelector<HTMLElement>(focusable) : undefined
    if (isLost) (target ?? region?.querySelector<HTMLElement>(focusable))?.focus()
    return undefined
  }
  requestAnimationFrame(() => requestAnimationFrame(settle))
}
