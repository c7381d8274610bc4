export function People() {
  return <p>People</p>
}
