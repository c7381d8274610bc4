export function Notes() {
  return <p>Notes</p>
}
