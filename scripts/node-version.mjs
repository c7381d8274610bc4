// Imported first by every script that a user may run on a fresh machine. Uses only syntax that an old Node can parse.
if (process.platform === 'win32') {
  console.error(
    'Rapport runs on Linux and macOS, not on Windows itself. On Windows, use Linux in WSL 2 (https://learn.microsoft.com/windows/wsl) or Docker (docs/guides/docker.md).',
  )
  process.exit(3)
}
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Rapport needs Node 20.19 or newer; this is ${process.versions.node}. See https://nodejs.org`)
  process.exit(3)
}
