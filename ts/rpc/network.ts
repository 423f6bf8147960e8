// What a node in a network of others knows of it; a node without one has no such thing.

/** How far a node is. */
export interface SyncState {
  /** Whether CometBFT catches up with its peers: `catching_up` of its status. */
  readonly catchingUp: boolean
  readonly height: number
  /** Height of the furthest peer. */
  readonly highest: number
}

/** The network of a node. Both reject if it cannot be queried at the moment. */
export interface Network {
  readonly peers: () => Promise<number>
  readonly sync: () => Promise<SyncState>
}
