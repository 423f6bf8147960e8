// What a new node needs of a network that runs: its genesis, and the addresses of its nodes.
import { isIP } from 'node:net'
import { ConsensusError } from './error.ts'
import { EngineRpcError, engineResult, type NetInfoAnswer, type StatusAnswer } from './rpc.ts'

/** Longest time for an answer of another node, in milliseconds. */
const ANSWER_MS_MAX = 20_000

/** Longest genesis that is read, in bytes. */
const GENESIS_BYTES_MAX = 256 * 1024 * 1024

/** Parts of a genesis that are read. */
const CHUNKS_MAX = 64

/** Nodes that a new one connects to by itself. */
const PEERS_MAX = 50

/** A network as other nodes describe it. */
export interface Network {
  /** The text of genesis.json. */
  readonly genesis: string
  /** As `ID@HOST:PORT`. */
  readonly peers: readonly string[]
  /** Whether one of them is on this machine or in a private network. */
  readonly local: boolean
}

/** The URLs of a list; throws `ConsensusError`. */
export function joinUrls(list: string): string[] {
  const urls = list
    .split(',')
    .map((url) => url.trim().replace(/\/+$/, ''))
    .filter((url) => url !== '')
  const bad = urls.find((url) => !/^https?:\/\/\S+$/.test(url) || !URL.canParse(url))
  if (bad !== undefined || urls.length === 0)
    throw new ConsensusError(
      `--join takes URLs of the RPC of CometBFT such as http://203.0.113.5:26657, not ${JSON.stringify(bad ?? list)}`,
    )
  return urls
}

/** The text of the genesis of a node, in the parts in which CometBFT gives long ones. */
async function fetchGenesis(url: string): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for (let chunk = 0, total = 1; chunk < total; chunk++) {
    const answer = await engineResult<{ total: string; data: string }>(url, `genesis_chunked?chunk=${chunk}`, ANSWER_MS_MAX)
    total = Number(answer.total)
    const part = Buffer.from(answer.data, 'base64')
    bytes += part.length
    if (!(total <= CHUNKS_MAX) || bytes > GENESIS_BYTES_MAX)
      throw new ConsensusError(`the genesis of ${url} is longer than ${GENESIS_BYTES_MAX} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

/**
 * Whether an address is not routed through the internet: loopback, private networks, link-local
 * ones.
 */
export function isLocalAddress(host: string): boolean {
  if (host === 'localhost') return true
  const version = isIP(host)
  if (version === 4)
    return /^(127\.|10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/.test(host)
  return version === 6 && /^(::1$|f[cd]|fe[89ab])/i.test(host)
}

/** Whether an address stands for all of those of a machine. */
const isAny = (host: string): boolean => host === '' || host === '0.0.0.0' || host === '::'

/** Host and port of where a node says that it listens: `tcp://0.0.0.0:26656`, `0.0.0.0:26656`. */
function listenAddress(text: string): { readonly host: string; readonly port: string } | undefined {
  const [, host, port] = /^(?:[a-z0-9]+:\/\/)?\[?([^\]/]*?)\]?:(\d{1,5})$/.exec(text) ?? []
  return host === undefined || port === undefined ? undefined : { host, port }
}

/** `ID@HOST:PORT` of a node; where it names no host of its own, `seenAt` is it. */
export function peerAddress(id: string, listens: string, seenAt: string): string | undefined {
  const at = listenAddress(listens)
  if (at === undefined || !/^[0-9a-f]{40}$/.test(id)) return undefined
  const host = isAny(at.host) || isLocalAddress(at.host) ? seenAt.replace(/^\[|\]$/g, '') : at.host
  return `${id}@${host.includes(':') ? `[${host}]` : host}:${at.port}`
}

/** The node behind a URL, and its peers. */
async function peersOf(url: string): Promise<string[]> {
  const [status, net] = await Promise.all([
    engineResult<StatusAnswer>(url, 'status', ANSWER_MS_MAX),
    engineResult<NetInfoAnswer>(url, 'net_info', ANSWER_MS_MAX),
  ])
  const host = new URL(url).hostname
  const nodes = [
    peerAddress(status.node_info.id, status.node_info.listen_addr, host),
    ...net.peers.map(({ node_info, remote_ip }) => {
      // What is a loopback address to that node is that node's machine to this one.
      const at = isLocalAddress(remote_ip) && /^(127\.|::1)/.test(remote_ip) ? host : remote_ip
      return peerAddress(node_info.id, node_info.listen_addr, at)
    }),
  ]
  return nodes.filter((node) => node !== undefined)
}

/** Queries nodes for their network. Rejects with `ConsensusError`. */
export async function fetchNetwork(urls: readonly string[]): Promise<Network> {
  try {
    const [genesis, ...lists] = await Promise.all([fetchGenesis(urls[0] as string), ...urls.map(peersOf)])
    const peers = [...new Set(lists.flat())].slice(0, PEERS_MAX)
    const local = peers.some((peer) => isLocalAddress(peer.replace(/^.*@\[?|\]?:\d+$/g, '')))
    return { genesis, peers, local }
  } catch (e) {
    if (!(e instanceof EngineRpcError)) throw e
    throw new ConsensusError(`the network cannot be joined through ${urls.join(', ')}: ${e.message}`)
  }
}
