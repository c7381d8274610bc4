// Imported first by whatever a user may run on a fresh machine. Plain syntax, so that an old Node can read it.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Rapport needs Node 20.19 or newer; this is ${process.versions.node}. See https://nodejs.org`)
  process.exit(3)
}
