// The page of JavaScript tracers names a test for every member.
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { API } from '../../ts/tracer/page.ts'

const tests = fs.readFileSync(path.join(import.meta.dirname, 'tracer-api.test.ts'), 'utf8')

it.each(Object.values(API).flat())('$name has the test that the page names', ({ test }) => {
  expect(tests).toContain(`'${test}`)
})
