// A littable used alone: `node docs/examples/littable.mjs DIR`. Values are written once and read by
// key, by part and in order.
import { ConflictError, openLittable } from 'hearth'

const store = await openLittable({ roots: [process.argv[2] ?? 'littable-example'] })
const table = await store.table({ name: 'blocks', compression: 'zstd' })
const utf8 = new TextEncoder()

// A group is a value with its keys: all of it is kept, or nothing. `number` is what retention goes
// by.
for (let height = 0; height < 10; height++) {
  const value = utf8.encode(`header of ${height}|body of ${height}`)
  const split = value.indexOf(0x7c)
  const secondary = [{ key: utf8.encode(`body-${height}`), start: split + 1, end: value.length }]
  await table.put({ key: utf8.encode(`block-${height}`), value, secondary, number: BigInt(height) })
}
await table.flush()

console.log(new TextDecoder().decode(await table.get(utf8.encode('body-7'))))
const part = await table.getRange(utf8.encode('block-7'), 0, 3)
console.log(`block 7 has ${part?.length} bytes before its fourth`)
for await (const { key, number } of table.iterate({ reverse: true })) console.log(new TextDecoder().decode(key), number)

try {
  await table.put({ key: utf8.encode('block-7'), value: utf8.encode('something else') })
} catch (e) {
  if (!(e instanceof ConflictError)) throw e
  console.log(`${e.code}: ${e.message}`)
}

await table.setFloor(5n)
console.log(`${table.len()} keys, kept from number ${table.floor()} on`)
await store.close()
