const focusable =
  'a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea:not([disabled]), [tabindex="0"]'

const isLost = (): boolean => document.activeElement === null || document.activeElement === document.body

/**
 * Call it when an editor ends. Focuses the element from which it was opened: at once if the focus is still in `box`,
 * otherwise only if nothing else gets the focus.
 */
export function returnFocus(box: Element | null, focus: () => void): void {
  if (box?.contains(document.activeElement)) return focus()
  requestAnimationFrame(() => isLost() && focus())
}

/**
 * Call it before an item is removed from its list. If the item has the focus, the next item gets it, otherwise the
 * previous one, otherwise the element before the list, so that the focus is never lost.
 */
export function leaveItem(inside: Element | null): void {
  const item = inside?.closest('li')
  if (!item) return
  const neighbor = item.nextElementSibling ?? item.previousElementSibling
  const region = item.closest('section')
  const settle = () => {
    if (item.isConnected && item.contains(document.activeElement)) return requestAnimationFrame(settle)
    const target = neighbor?.isConnected ? neighbor.querySelector<HTMLElement>(focusable) : undefined
    if (isLost()) (target ?? region?.querySelector<HTMLElement>(focusable))?.focus()
    return undefined
  }
  requestAnimationFrame(() => requestAnimationFrame(settle))
}

/** The last position of the focus: the element and its ancestors, innermost first. */
interface FocusPosition {
  element: Element
  ancestors: readonly { box: Element; index: number }[]
}

/**
 * Keeps the focus from falling back to the document: if the focused element disappears or is disabled, the next
 * remaining one gets the focus, otherwise the page. Code that knows a better target focuses it first.
 */
export function keepFocus(): void {
  let last: FocusPosition | undefined
  let frames = 0
  const look = () => {
    if (frames > 0) return
    frames = requestAnimationFrame(() => {
      // Dialogs return the focus one frame after they are removed.
      frames = requestAnimationFrame(() => {
        frames = 0
        if (last && isLost() && isGone(last.element)) nextOf(last)?.focus({ preventScroll: true })
      })
    })
  }
  document.addEventListener('focusin', ({ target }) => {
    if (target instanceof Element && target !== document.body) last = placeOf(target)
  })
  const changed = () => {
    // An element that becomes disabled loses the focus later.
    if (last && (isLost() || !last.element.isConnected || last.element.matches(':disabled'))) look()
  }
  new MutationObserver(changed).observe(document.body, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ['disabled', 'hidden', 'inert'],
  })
}

const isGone = (element: Element): boolean => !element.isConnected || !isUsable(element)

const isUsable = (element: Element): boolean =>
  !element.matches(':disabled') && element.closest('[inert]') === null && element.checkVisibility()

function placeOf(element: Element): FocusPosition {
  const ancestors = []
  for (let inner = element; inner.parentElement; inner = inner.parentElement)
    ancestors.push({ box: inner.parentElement, index: [...inner.parentElement.children].indexOf(inner) })
  return { element, ancestors }
}

/** The next focusable element after a removed one, otherwise the previous one, in its innermost remaining ancestor. */
function nextOf({ ancestors }: FocusPosition): HTMLElement | null | undefined {
  const main = document.getElementById('main')
  for (const { box, index } of ancestors) {
    // Outside of the page, the next element would be in the navigation.
    if (!box.isConnected || box === document.body || (main && box !== main && box.contains(main))) continue
    const usable = (child: Element | undefined) =>
      child && [child, ...child.querySelectorAll(focusable)].find((one) => one.matches(focusable) && isUsable(one))
    const children = [...box.children]
    const found = [...children.slice(index), ...children.slice(0, index).toReversed()].map(usable).find(Boolean)
    if (found) return found as HTMLElement
    if (box.id === 'main' || box.getAttribute('role') === 'dialog') return box as HTMLElement
  }
  return document.querySelector<HTMLElement>('[role=dialog]') ?? main
}
