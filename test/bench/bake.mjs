// The bench behind `npm run bench -- bake`: capsules, commits during baking, and hits of the trace
// cache.
import { capsulesBench } from './bake/capsules.mjs'
import { commitTable } from './bake/commit.mjs'
import { hitsTables } from './bake/hits.mjs'

/** All groups; each can be run alone by its own file. */
export async function bakeBench() {
  await capsulesBench()
  await commitTable()
  await hitsTables()
}
