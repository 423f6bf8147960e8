// rpc_modules: Namespaces that are served, with their versions.
import { json, method } from '../../method.ts'

export const modules = method({
  name: 'rpc_modules',
  doc: 'Namespaces that are served, with their versions.',
  result: '`{namespace: version}`',
  cost: 'read',
  params: [],
  handle: ({ namespaces }) => json(Object.fromEntries(namespaces.map((name) => [name, '1.0']))),
})
