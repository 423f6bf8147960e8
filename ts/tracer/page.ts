// The page docs/scripts.md: what a JavaScript tracer finds, member by member, and where it differs from go-ethereum's.
import { SCRIPT_NAMES } from './names.ts'

/** A member of the API. */
interface Member {
  readonly name: string
  readonly gives: string
  /** Words of the title of its test in test/unit/tracer-api.test.ts. */
  readonly test: string
}

const members = (...rows: readonly (readonly [name: string, gives: string, test?: string])[]): readonly Member[] =>
  rows.map(([name, gives, test]) => ({ name, gives, test: test ?? name }))

/** The API by the object that has the members. */
export const API: Readonly<Record<string, readonly Member[]>> = {
  'The object of the script': members(
    [
      'setup(cfg)',
      'Optional. Called once with `tracerConfig` as JSON text, `{}` where there is none.',
      'setup gets the configuration as text',
    ],
    ['step(log, db)', 'Optional. Called before each instruction.', 'getPC'],
    ['fault(log, db)', 'Called when an instruction fails that `step` was shown; `log` shows that step.', 'getError in a step whose opcode'],
    ['enter(frame)', 'Called when a nested call, creation or self-destruction begins. Only together with `exit`.', 'enter and exit'],
    ['exit(frameResult)', 'Called when it ends.', 'enter and exit'],
    ['result(ctx, db)', 'What it returns is the answer, encoded as JSON.', 'the answer is encoded as Go would'],
  ),
  log: members(
    ['op.toNumber()', 'The opcode.', 'op.toNumber'],
    ['op.toString()', 'Its name; `opcode 0xc not defined` where it has none.', 'names opcodes that do not exist'],
    ['op.isPush()', 'Whether it is PUSH0 to PUSH32.', 'op.isPush'],
    ['getPC()', 'Place in the code.', 'getPC'],
    ['getGas()', 'Gas before the instruction.', 'getGas'],
    ['getCost()', 'Gas that it costs.', 'getCost'],
    ['getDepth()', 'Depth of the frame, from 1.', 'getDepth'],
    ['getRefund()', 'Gas to be refunded so far.', 'getRefund'],
    ['getError()', 'In `fault`, and in a `step` whose instruction fails before it runs: what went wrong. Else undefined.', 'getError'],
    ['stack.length()', 'Words on the stack.', 'stack.length'],
    ['stack.peek(n)', 'The word n places below the top, a bigInt.', 'stack.peek further down'],
    ['memory.length()', 'Bytes of memory.', 'memory.length'],
    ['memory.slice(begin, end)', 'Those bytes; up to 1 MiB of zeros beyond the end.', 'memory.slice beyond the end'],
    ['memory.getUint(offset)', 'The 32 bytes there, a bigInt.', 'memory.getUint'],
    ['contract.getCaller()', 'Address of the caller.', 'contract.getCaller'],
    ['contract.getAddress()', 'Address of the running account.', 'contract.getAddress'],
    ['contract.getValue()', 'Wei of the call, a bigInt.', 'contract.getValue'],
    ['contract.getInput()', 'Call data.', 'contract.getInput'],
  ),
  db: members(
    ['getBalance(address)', 'Wei as of this step, a bigInt.', 'reads what stood before the transaction'],
    ['getNonce(address)', 'Nonce.', 'reads what stood before the transaction'],
    ['getCode(address)', 'Code.', 'reads what stood before the transaction'],
    ['getState(address, key)', 'The 32 bytes of a slot.', 'shows changes as of each step'],
    ['exists(address)', 'Whether the account exists.', 'shows changes as of each step'],
  ),
  frame: members(
    ['getType()', 'CALL, DELEGATECALL, CREATE …', 'enter and exit'],
    ['getFrom()', 'Caller.', 'enter and exit'],
    ['getTo()', 'Callee.', 'enter and exit'],
    ['getInput()', 'Call data, or the code that makes a contract.', 'enter and exit'],
    ['getGas()', 'Gas given.', 'enter and exit'],
    ['getValue()', 'Wei, a bigInt; undefined for kinds of calls that have none.', 'enter and exit'],
  ),
  frameResult: members(
    ['getGasUsed()', 'Gas used.', 'enter and exit'],
    ['getOutput()', 'Data returned.', 'enter and exit'],
    ['getError()', 'What went wrong; undefined where nothing did.', 'enter and exit'],
  ),
  ctx: members(
    ['type', '`CALL` or `CREATE`.', 'ctx'],
    ['from, to, input, output', 'Uint8Arrays.', 'ctx'],
    ['gas, gasUsed, block, txIndex', 'Numbers.', 'ctx'],
    ['value, gasPrice', 'bigInts; gasPrice is the tip, as in go-ethereum v1.17.', 'ctx'],
    ['coinbase, blockHash, txHash', 'Uint8Arrays; the hashes and txIndex are absent in simulated calls.', 'ctx'],
    ['error', 'What went wrong with the transaction; absent where nothing did.', 'ctx'],
  ),
  'The global scope': members(
    ['toHex(bytes)', 'Hex text with 0x.', 'toHex(['],
    ['toWord(value)', '32 bytes of bytes or hex text.', 'toHex(toWord('],
    ['toAddress(value)', '20 bytes of bytes or hex text.', 'toHex(toAddress('],
    ['toContract(from, nonce)', 'Address that CREATE makes.', 'toContract and toContract2'],
    ['toContract2(from, salt, code)', 'Address that CREATE2 makes.', 'toContract and toContract2'],
    ['isPrecompiled(address)', 'Whether it is a precompiled contract of the block’s fork.', 'isPrecompiled('],
    ['slice(bytes, start, end)', 'A copy of a part.', 'toHex(slice('],
    ['bigInt', 'The big-integer library in the version that go-ethereum bundles.', 'bigInt('],
  ),
}

const INTRODUCTION = `# JavaScript tracers

\`tracer\` may be the source of a JavaScript object, or the name of a script: ${SCRIPT_NAMES.map((name) => `\`${name}\``).join(', ')}. Scripts
written for go-ethereum run unchanged, in debug_traceTransaction, debug_traceBlock*, debug_traceCall, debug_traceCallMany and within muxTracer.

\`\`\`js
{
  counts: {},
  step: function (log, db) {
    var op = log.op.toString()
    this.counts[op] = (this.counts[op] || 0) + 1
  },
  fault: function (log, db) {},
  result: function (ctx, db) { return this.counts },
}
\`\`\`

Each transaction has an engine of its own: nothing that a script does to its globals is seen by the next transaction or the next request.
Scripts run in V8 without files, network, environment, timers or modules, in processes that [the kernel confines](#what-confines-the-processes);
\`WebAssembly\`, \`SharedArrayBuffer\`, \`Atomics\` and \`import()\` do not exist there. \`timeout\` of the request (evm.trace_transaction_timeout where it names none) counts from the arrival of the request.
A script that takes longer, or more memory than evm.trace_js_memory_bytes, is ended, with its process where need be; other requests notice nothing.
Results may have up to evm.trace_js_output_bytes. Beyond evm.trace_js_queue_size waiting requests, the next is refused with -32005.

The engine is built from the sources of the npm package isolated-vm by \`npm run build\` (python3, a C++ compiler and Node's headers are needed), for the
Node that runs the build. Packages (\`npm pack\`, \`npm run pack:binary\`) hold it for Node 20, 22 and 24. Without an engine for its Node, a node runs and
refuses JavaScript tracers with an error that says what helps.

What is recorded of a transaction is what the text of the script shows that it looks at. A script that reaches a member in another way
(\`log['get' + 'Gas']\`) is run a second time with that member recorded.
`

const CONFINEMENT = `## What confines the processes

V8 is the first wall: a script has no function that reaches outside. Behind it the kernel holds each process, for the case that V8 has a fault. A process starts without
environment, with its channel as its only open descriptor, at the lowest priority, and ends with the node. Its layers, each under the name that \`hearth status\`, the log
and the metric js_tracer_confinement have for it:

| layer | what it holds | needs |
|---|---|---|
| \`no_new_privs\` | no program started by it gets more rights | Linux |
| \`capabilities\` | none, also where the node runs as root | Linux |
| \`user_namespace\` | its user is nobody inside, though files see the user of the node | unprivileged user namespaces, or root |
| \`network_namespace\` | no interface that is up | the same |
| \`pid_namespace\` | no process but its own can be named | the same |
| \`mount_namespace\` | mounts of the system that come later are not seen to change | the same |
| \`ipc_namespace\` | no shared memory, semaphores or queues of others | the same |
| \`landlock\` | no file can be written, made or removed, no TCP port used (from Linux 6.7 on), no signal sent outside (from 6.12 on), on all threads from the first moment; once loaded no path can be opened at all on the thread that runs scripts, on all threads from Linux 7.0 on | Linux 5.13 with Landlock |
| \`seccomp\` | a list of system calls for all threads: memory, threads, clocks, open descriptors. open, socket, connect, kill of others and new processes fail; exec, ptrace, reading another process's memory, mount, unshare, bpf and io_uring kill the process (from its first moment they fail, but exec) | Linux with seccomp |
| \`resource_limits\` | writable memory, reserved or used, of twice evm.trace_js_memory_bytes and 6 GiB (V8 reserves much of that), address space of that and 8 GiB beyond what Node maps, 64 descriptors, no file grows, no core files | Linux |
| \`thread_limit\` | 64 threads | user_namespace, and a node that does not run as root: the kernel exempts root |

landlock, seccomp and the bound of the address space begin when Node and the engine are loaded, before the process is given any script. The memory of a process that is in
RAM is bounded by the node itself: it ends one that has more than evm.trace_js_memory_bytes and 192 MiB.

A layer that the system refuses (a container without user namespaces, an old kernel) is left out and told: \`hearth status\` lists it, and a line of the log does when the
first process has started. \`evm.trace_js_require_confinement\` says what must hold: \`system-calls\` (the default) is no_new_privs, capabilities, seccomp and resource_limits;
\`all\` is every layer but thread_limit; \`none\` is nothing. Without what must hold the node refuses JavaScript tracers with an error that names the missing layers, and gives
the process nothing to run; all other tracers are served. What a script may still do is compute, and learn the time; nothing here hides the side channels of a processor.

Where the node runs as root out of a folder that another user has closed to everybody else, its processes cannot read their program, since they have no right to pass over
permissions: run the node as that user.
`

const HOOKS = `## Functions of your own process

A program that has the node in its own process may give functions in place of a text, with all that they close over:

\`\`\`ts
const pushes = new Map<number, number>()
const depth = await core.traceWith('traceTransaction', { hash }, {
  deepest: 0,
  step(log) {
    this.deepest = Math.max(this.deepest, log.getDepth())
    if (log.op.isPush()) pushes.set(log.op.toNumber(), (pushes.get(log.op.toNumber()) ?? 0) + 1)
  },
  result() {
    return this.deepest
  },
})
\`\`\`

They run on the thread that calls, over the same recorded chunks, and see the same \`log\`, \`db\`, frames and \`ctx\`; \`fault\` may be left out. What \`result\` returns comes
back as it is, for a block one value for each transaction, in order. The event loop gets its turn every 10 ms, and the execution waits while the functions are behind. There
is no sandbox: such functions can do whatever the program can, the globals of scripts (\`toHex\` …) are not there, and one that never returns is not ended. What a function
looks at that its text does not show is recorded in addition, while it waits; it is not called again for that. A function that throws ends the trace with a \`HookError\` whose
\`cause\` is what it threw; an AbortSignal and \`timeoutMs\` end it between two chunks.
`

const DIFFERENCES = `## Differences from go-ethereum

- Lines and columns in messages are V8's, and so are the words of its own errors. A value that is thrown and is no Error has no position.
- \`null\` is answered as null, and text as text: go-ethereum answers {} for null, and arrays of numbers or {} for some texts, where they are the whole result.
- Calls without a needed argument, as in \`toHex()\`, are a TypeError; go-ethereum's handler crashes.
- Callbacks of promises run before \`result\`, not after each step.
- Members of \`ctx\` have a fixed order.
`

/** The page. */
export function scriptsPage(): string {
  const tables = Object.entries(API).map(
    ([of, rows]) =>
      `## ${of}\n\n| member | gives | test |\n|---|---|---|\n${rows.map(({ name, gives, test }) => `| \`${name}\` | ${gives} | ${test} |`).join('\n')}\n`,
  )
  return [INTRODUCTION, ...tables, CONFINEMENT, HOOKS, DIFFERENCES].join('\n')
}
