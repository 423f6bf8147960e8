// eth_sendRawTransaction: Takes a signed transaction (EIP-2718); its hash.
import { readBytes } from '../../../core/results.ts'
import { data } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { submit, throughOwner } from '../../submission.ts'

export const sendRawTransaction = method({
  name: 'eth_sendRawTransaction',
  doc: 'Submits a signed transaction (EIP-2718) and returns its hash. A node that makes no blocks forwards it to the node of `evm.forward_url`, or refuses it. With `consensus.redirect` it goes to the validator of its sender.',
  result: 'hash',
  cost: 'write',
  params: [required('transaction', data)],
  handle: ({ core, submission, redirect }, transaction) =>
    submit(submission, { method: 'eth_sendRawTransaction', params: [transaction] }, () =>
      throughOwner(redirect, transaction, () => readBytes(core, 'sendRawTransaction', { transaction })),
    ),
})
