// The smallest scripts.

/** Number of executed instructions. */
export const opcountTracer = `{
  total: 0,
  step: function () { this.total++ },
  fault: function () {},
  result: function () { return this.total },
}`

/** An empty answer; its `step` is there, so that every instruction is shown. */
export const noopTracerLegacy = `{
  step: function () {},
  fault: function () {},
  result: function () { return {} },
}`
