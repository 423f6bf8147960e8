// eth_sendRawTransactionSync: Submits a signed transaction and waits for its receipt, at most
// `timeout` milliseconds (default 20 s, maximum 60 s). Error 4 with the hash if it was not mined in
// time (EIP-7966).
import { readBytes } from '../../../core/results.ts'
import { data, hexOrDecimal } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'
import { sendAndWait, waitMsOf } from '../../receipt-wait.ts'
import { submit } from '../../submission.ts'

export const sendRawTransactionSync = method({
  name: 'eth_sendRawTransactionSync',
  doc: 'Submits a signed transaction and waits for its receipt, at most `timeout` milliseconds (default 20 s, maximum 60 s). Error 4 with the hash if it was not mined in time (EIP-7966).',
  result: 'receipt',
  cost: 'write',
  params: [required('transaction', data), optional('timeout', hexOrDecimal)],
  handle: (context, transaction, timeout) => {
    const { core, submission, onDisconnect } = context
    const params = timeout === undefined ? [transaction] : [transaction, timeout]
    const send = (): Promise<Uint8Array> => readBytes(core, 'sendRawTransaction', { transaction })
    return submit(submission, { method: 'eth_sendRawTransactionSync', params, waitMs: waitMsOf(timeout), onDisconnect }, () =>
      sendAndWait(context, send, timeout),
    )
  },
})
