// Refuses a Node.js that is too old. Imported first: the modules behind it use what old ones do not
// have.
const NEEDED = [20, 20]

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  console.error(
    `hearth set-up: Node.js ${NEEDED.join('.')} or newer is needed, this is ${process.versions.node}. Type: nvm install 20 (or take it from nodejs.org), then run the command again.`,
  )
  process.exit(1)
}
