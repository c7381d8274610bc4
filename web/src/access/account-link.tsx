export function AccountLink() {
  return <p>AccountLink</p>
}
