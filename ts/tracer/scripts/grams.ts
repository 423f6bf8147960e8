// Counts of opcodes, and of runs of two and three of them within one call depth.

export const unigramTracer = `{
  counts: {},
  step: function (log) {
    var name = log.op.toString()
    this.counts[name] = (this.counts[name] || 0) + 1
  },
  fault: function () {},
  result: function () { return this.counts },
}`

/**
 * The first pair of a depth has the last opcode of the depth before only if the depth stayed the
 * same.
 */
export const bigramTracer = `{
  counts: {},
  before: '',
  depth: 0,
  step: function (log) {
    var name = log.op.toString()
    var depth = log.getDepth()
    if (depth === this.depth) {
      var pair = this.before + '-' + name
      this.counts[pair] = (this.counts[pair] || 0) + 1
    }
    this.before = name
    this.depth = depth
  },
  fault: function () {},
  result: function () { return this.counts },
}`

/** The step at which the depth changes counts for nothing. */
export const trigramTracer = `{
  counts: {},
  first: '',
  second: '',
  depth: 0,
  step: function (log) {
    var depth = log.getDepth()
    if (depth !== this.depth) {
      this.first = this.second = ''
      this.depth = depth
      return
    }
    var name = log.op.toString()
    var three = this.first + '-' + this.second + '-' + name
    this.counts[three] = (this.counts[three] || 0) + 1
    this.first = this.second
    this.second = name
  },
  fault: function () {},
  result: function () { return this.counts },
}`
