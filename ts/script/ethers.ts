// The node for ethers 6: a provider within this process. The user of this module installs ethers.
import { JsonRpcApiProvider, type JsonRpcError, type JsonRpcPayload, type JsonRpcResult, Network } from 'ethers'
import type { HearthNode } from './node.ts'
import { ProviderRpcError } from './provider.ts'

/**
 * An ethers provider over a node of this process: everything of `JsonRpcApiProvider`, without a
 * socket.
 */
export class HearthProvider extends JsonRpcApiProvider {
  private readonly node: HearthNode

  constructor(node: HearthNode) {
    const network = Network.from(node.chainId)
    // Nothing is gained by waiting for more requests, or by remembering answers: there is no way to
    // save.
    super(network, { staticNetwork: network, batchMaxCount: 1, batchStallTime: 0, cacheTimeout: -1 })
    this.node = node
    this._start()
  }

  override async _send(payload: JsonRpcPayload | JsonRpcPayload[]): Promise<(JsonRpcResult | JsonRpcError)[]> {
    return await Promise.all((Array.isArray(payload) ? payload : [payload]).map((one) => this.answer(one)))
  }

  private async answer({ id, method, params }: JsonRpcPayload): Promise<JsonRpcResult | JsonRpcError> {
    try {
      return { id, result: await this.node.provider.request({ method, params }) }
    } catch (e) {
      if (!(e instanceof ProviderRpcError)) throw e
      const { code, message, data } = e
      return { id, error: { code, message, ...(data === undefined ? {} : { data }) } }
    }
  }
}
