// Opens many connections to a node and holds them; on request it sends one call over each.
// `node many-connections.mjs URL COUNT`.
import net from 'node:net'

const [url, count] = [new URL(process.argv[2]), Number(process.argv[3])]
const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
const request = `POST / HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** Connections that are being opened at the same time: fewer than a listener's backlog. */
const AT_ONCE = 100

const fail = (e) => {
  console.log(`failed: ${e.message}`)
  process.exit(1)
}

const sockets = []
const open = () =>
  new Promise((resolve, reject) => {
    const socket = net.connect({ host: url.hostname, port: Number(url.port) }, () => {
      sockets.push(socket)
      resolve(undefined)
    })
    socket.once('error', reject)
  })

async function opener() {
  while (sockets.length + pending < count) {
    pending++
    await open().finally(() => pending--)
  }
}
let pending = 0
await Promise.all(Array.from({ length: AT_ONCE }, opener)).catch(fail)
console.log(`open ${sockets.length}`)

process.stdin.once('data', async () => {
  const answers = sockets.map(
    (socket) =>
      new Promise((resolve, reject) => {
        socket.once('data', (data) => resolve(data.includes('"result"')))
        socket.once('close', () => reject(new Error('a connection was closed')))
        socket.write(request)
      }),
  )
  const answered = await Promise.all(answers).catch(fail)
  console.log(`answered ${answered.filter(Boolean).length}`)
})
process.stdin.once('end', () => process.exit(0))
