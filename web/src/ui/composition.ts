/** The keyCode of keys that an input method handles. Safari sends the last one after the composition has ended. */
const inputMethodKey = 229

const browserKeys: ReadonlySet<string> = new Set(['Enter', 'Tab', 'Escape'])

/**
 * Keys during a composition belong to the input method: Enter accepts a suggestion, Escape drops it, arrows and Tab
 * choose. These events are hidden from the rest of the page.
 */
export function leaveCompositionsAlone(): void {
  let isComposing = false
  const isOfComposition = (event: KeyboardEvent) =>
    isComposing || event.isComposing || ('keyCode' in event && event.keyCode === inputMethodKey)
  addEventListener('compositionstart', () => (isComposing = true), { capture: true })
  addEventListener('compositionend', () => (isComposing = false), { capture: true })
  // Some input methods send no end event when the input loses the focus.
  addEventListener('focusout', () => (isComposing = false), { capture: true })
  for (const type of ['keydown', 'keyup', 'keypress'] as const)
    addEventListener(
      type,
      (event) => {
        if (!isOfComposition(event)) return
        event.stopImmediatePropagation()
        // Otherwise, the browser would submit the form, move the focus or clear a search.
        if (browserKeys.has(event.key)) event.preventDefault()
      },
      { capture: true },
    )
}
