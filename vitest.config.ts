import { defineConfig } from 'vitest/config'

/** Milliseconds a test may take: whole-node tests start processes on a machine that may be busy. */
const TEST_TIMEOUT_MS = 300_000

export default defineConfig({
  test: {
    testTimeout: TEST_TIMEOUT_MS,
    hookTimeout: TEST_TIMEOUT_MS,
    expect: { poll: { timeout: (TEST_TIMEOUT_MS * 2) / 3 } },
    pool: 'forks',
    maxWorkers: 2,
    globalSetup: ['test/temporary-folders.ts'],
    setupFiles: ['test/temporary-folder.ts'],
    // `tsc` checks the sources.
    typecheck: { ignoreSourceErrors: true },
  },
})
