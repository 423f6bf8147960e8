// eth_sendRawTransactionSync: Takes a signed transaction and waits for its receipt, `timeout` milliseconds at most (20 s where absent, 60 s at most); an error of code 4 with the hash where it was not mined in time (EIP-7966).
import { data, hexOrDecimal } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'
import { sendAndWait, waitMsOf } from '../../receipt-wait.ts'
import { submit } from '../../submission.ts'

export const sendRawTransactionSync = method({
  name: 'eth_sendRawTransactionSync',
  doc: 'Takes a signed transaction and waits for its receipt, `timeout` milliseconds at most (20 s where absent, 60 s at most); an error of code 4 with the hash where it was not mined in time (EIP-7966).',
  cost: 'write',
  params: [required('transaction', data), optional('timeout', hexOrDecimal)],
  handle: ({ core, follow, submission }, transaction, timeout) => {
    const params = timeout === undefined ? [transaction] : [transaction, timeout]
    const send = (): Promise<Uint8Array> => core.request('sendRawTransaction', { transaction })
    return submit(submission, { method: 'eth_sendRawTransactionSync', params, waitMs: waitMsOf(timeout) }, () =>
      sendAndWait(core, follow, send, timeout),
    )
  },
})
