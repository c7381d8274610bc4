export function ListPage() {
  return <p>ListPage</p>
}
