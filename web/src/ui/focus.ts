const focusable =
  'a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea:not([disabled]), [tabindex="0"]'

const isLost = (): boolean => document.activeElement === null || document.activeElement === document.body

/**
 * Call it when an editor ends: what it was opened from gets the focus at once if the editor still has it, which is
 * somewhere in `box`; otherwise only if nothing else gets it.
 */
export function returnFocus(box: Element | null, focus: () => void): void {
  if (box?.contains(document.activeElement)) return focus()
  requestAnimationFrame(() => isLost() && focus())
}

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
    const target = neighbor?.isConnected ? neighbor.querySelector<HTMLElement>(focusable) : undefined
    if (isLost()) (target ?? region?.querySelector<HTMLElement>(focusable))?.focus()
    return undefined
  }
  requestAnimationFrame(() => requestAnimationFrame(settle))
}

/** Where the focus was: the element, and what it was in, from the inside out. */
interface Place {
  element: Element
  ancestors: readonly { box: Element; index: number }[]
}

/**
 * The focus is never on nothing: when the element that has it disappears or can no longer have it, the next one gets it
 * that is still there, otherwise the page. What knows a better place takes it first.
 */
export function keepFocus(): void {
  let last: Place | undefined
  let frames = 0
  const look = () => {
    if (frames > 0) return
    frames = requestAnimationFrame(() => {
      // Dialogs return the focus with the frame after the one that removes them.
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

function placeOf(element: Element): Place {
  const ancestors = []
  for (let inner = element; inner.parentElement; inner = inner.parentElement)
    ancestors.push({ box: inner.parentElement, index: [...inner.parentElement.children].indexOf(inner) })
  return { element, ancestors }
}

/** What comes after a place that is gone, otherwise before it, in the innermost box that is still there. */
function nextOf({ ancestors }: Place): HTMLElement | null | undefined {
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
