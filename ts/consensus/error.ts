/** CometBFT cannot be run as things are: the message says why, and what to do. */
export class ConsensusError extends Error {
  override name = 'ConsensusError'
}
