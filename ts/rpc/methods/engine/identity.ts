// engine_exchangeCapabilities and engine_getClientVersionV1: who the two clients are
// (execution-apis, src/engine/common.md, identification.md).
import { clientMethods, object } from '../../codec/index.ts'
import { json, type Method, method, optional, required } from '../../method.ts'

/** Two letters for this client, which the specification leaves to it. */
const CODE = 'HE'

/** A package does not know its commit; the specification requires four bytes. */
const NO_COMMIT = '0x00000000'

/** The method that names the methods there are, itself left out. */
export const exchangeCapabilities = (names: readonly string[]): Method =>
  method({
    name: 'engine_exchangeCapabilities',
    doc: 'The methods of the Engine API that this node has, without this one.',
    result: 'text[]',
    cost: 'read',
    params: [required('consensusClientMethods', clientMethods)],
    handle: () => json(names),
  })

export const getClientVersionV1 = method({
  name: 'engine_getClientVersionV1',
  doc: 'Code, name, version and commit of this client, in a list of one. The commit is zero: packages do not contain it.',
  result: '`{code, name, version, commit}`[]',
  cost: 'read',
  params: [optional('consensusClient', object)],
  handle: ({ clientVersion }) => {
    const [name = 'hearth', version = ''] = clientVersion.split('/')
    return json([{ code: CODE, name, version, commit: NO_COMMIT }])
  },
})
