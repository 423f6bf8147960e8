// The client of a message.
import type { Line } from '../core/line.ts'
import type { CoreCaller } from '../core/port.ts'
import type { Connection, Sample } from './meter.ts'
import type { Subscriber } from './subscription.ts'

/** The address of this process as a client: no share holds for its work. */
export const THIS_PROCESS = ''

/** Namespaces that a client may not use, with the reason. */
export interface DeniedNamespaces {
  readonly namespaces: ReadonlySet<string>
  /** The reason, for error messages. */
  readonly why: string
}

/** The sender of a message. */
export interface Client {
  readonly connection: Connection
  /** Address of the client; queued work takes turns by address. */
  readonly address?: string
  /**
   * Counts requests of this client: 0 if they are let in, else the milliseconds until they may come
   * again. Always 0 where absent.
   */
  admit?(requests: number): number
  /** Answers of more bytes are wanted in gzip, where they are stored so; undefined: none is. */
  readonly gzipOver?: number | undefined
  /** Where a single request may begin subscriptions; undefined where the transport has none. */
  readonly subscriber?: Subscriber | undefined
  /** Namespaces that this client may not use; undefined: none. */
  readonly denied?: DeniedNamespaces | undefined
  /** Whether another node forwarded the message; it is not forwarded again. */
  readonly forwarded?: boolean
  /** Whether the transport can carry warnings beside the answer. */
  readonly takesWarnings?: boolean
  /**
   * Calls back when the client has left; at once if it has already. May also call back after the
   * answer was sent.
   */
  onDisconnect(callback: () => void): void
}

/** A client as the core knows it, with the measurement of its request. */
export class ClientCaller implements CoreCaller {
  readonly address: string
  readonly line: Line | undefined
  private readonly client: Client
  private readonly sample: Sample

  constructor(address: string, client: Client, sample: Sample, line?: Line) {
    this.address = address
    this.line = line
    this.client = client
    this.sample = sample
  }

  onDisconnect(callback: () => void): void {
    this.client.onDisconnect(callback)
  }

  historical(): void {
    this.sample.historical()
  }
}
