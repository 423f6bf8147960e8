// A bare node:http server that sends given answers: `node bare.mjs PORT FILE`; FILE has one line of
// JSON per request, with its body and its answer.
import fs from 'node:fs'
import http from 'node:http'

const [port, file] = process.argv.slice(2)
const answers = new Map()
for (const line of fs.readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
  const { body, answer } = JSON.parse(line)
  answers.set(body, Buffer.from(answer))
}

http
  .createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const answer = answers.get(Buffer.concat(chunks).toString())
      response.setHeader('content-type', 'application/json')
      if (answer === undefined) {
        // The bench's own question, whether anybody is there.
        response.end('{"jsonrpc":"2.0","id":1,"result":"0x0"}')
        return
      }
      response.setHeader('content-length', answer.length)
      response.end(answer)
    })
  })
  .listen(Number(port), '127.0.0.1')
