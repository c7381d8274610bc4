export function ImportRecord() {
  return <p>ImportRecord</p>
}
