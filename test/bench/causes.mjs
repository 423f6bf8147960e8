// Why rows of docs/benchmarks.md lose: one sentence a cause, found by a profile or by counting. The
// page has the causes of rows that lose at present.

/**
 * `in`: the section; `rows`: which rows, by the title of their table and their first two cells with
 * bars between; `name`: these rows for readers; `why`: the cause.
 *
 * @type {readonly { in: string, rows: RegExp, name: string, why: string }[]}
 */
export const CAUSES = [
  {
    in: 'bake',
    rows: /^capsules: \w+ \| the same, 2 processors, in process/,
    name: 'A block on two processors',
    why: 'two traces at once, each on one processor, take 1.2 to 2 times as long as one alone (the row below), so that on these machines a second thread adds little throughput.',
  },
  {
    in: 'bake',
    rows: /^capsules: equal \| the same \(ms\)/,
    name: 'A block of equal calls beside go-ethereum',
    why: 'half of the time over HTTP is the trace; the other half is sending a large answer to a client on the same two processors.',
  },
  {
    in: 'bake',
    rows: /^capsules: cost \| CPU of importing/,
    name: 'Processor time of imports with capsules',
    why: 'a capsule takes 0.1 ms of the 2.5 to 3.6 ms of processor time that the import of its block takes: a quarter is memtables whose rows leave the caches of the processor meanwhile, a tenth compression, a tenth writes to its file.',
  },
  {
    in: 'bake',
    rows: /^Bytes of the trace cache.* \| 1 KB/,
    name: 'Stored bytes of a block with one transaction',
    why: 'the header, the directory, and the key and checksum of the row are a quarter of them.',
  },
  {
    in: 'cosmos',
    rows: /through a follower/,
    name: 'A transaction through a follower',
    why: 'it is two requests over loopback, one after the other, of three processes that share two processors.',
  },
  {
    in: 'dev',
    rows: /start to first answer/,
    name: 'Start to first answer',
    why: 'Node.js starts (28 to 37 ms) and reads the program and its code cache (12 ms) first; anvil is a native binary.',
  },
  {
    in: 'dev',
    rows: /transfers on 4 nodes|send and receipt/,
    name: 'Transfers in batches; send and receipt',
    why: 'each block goes with its state root to the WAL, to RocksDB and to littable; anvil keeps its blocks in memory.',
  },
  {
    in: 'dev',
    rows: /revert of 700 changed slots/,
    name: 'Revert of 700 changed slots',
    why: 'nearly all of it is the unwind of rows and trie in the state store; anvil drops a copy in memory.',
  },
  {
    in: 'dev',
    rows: /memory of an empty block/,
    name: 'Memory of an empty block',
    why: 'the ledger has block, receipts and indexes of each, and what the allocator has not returned yet counts.',
  },
  {
    in: 'dev',
    rows: /memory after \d+ empty blocks/,
    name: 'Memory after many empty blocks',
    why: 'memtables and block cache of the state store fill up to its memory budget; with one of 64 MiB, 500,000 blocks take 1.2 times the memory of 100,000.',
  },
  {
    in: 'engine',
    rows: /50 ms after its payload/,
    name: 'A fork choice 50 ms after its payload',
    why: 'after a pause of 50 ms a call that does nothing takes 1.4 ms in place of 0.6, since processors sleep and their caches are cold; the sync of the log takes one more, and with fsync=none the slowest take as long.',
  },
  {
    in: 'flatkv',
    rows: /\| commit: (without history|without lthash|latest rows and log only)/,
    name: 'Commits without history, without lthash, or with latest rows and log only',
    why: 'the WAL is a second copy of every row, which bare RocksDB with its log off does not write.',
  },
  {
    in: 'flatkv',
    rows: /\| commit: state roots/,
    name: 'Commits with state roots',
    why: 'a pair changes the five to seven nodes from its leaf to the root, which are hashed and written; bare RocksDB writes one row.',
  },
  {
    in: 'flatkv',
    rows: /\| depth: written every 1,000th, \d+ beside depth 1/,
    name: 'A slot that is written at every 1,000th height, beside depth 1',
    why: 'depth 1 reads its latest row, one of 8,000 that stay in the caches of the processor; its row of history is one of eight million, which do not.',
  },
  {
    in: 'flatkv',
    rows: /\| depth: written every 1,000th, 999999 beside latest/,
    name: 'Such a slot at height 1',
    why: 'all but eight of them have no value there, which takes the latest row and a look into all of history.',
  },
  {
    in: 'flatkv',
    rows: /\| depth: written once, \d+, each read on its own/,
    name: 'A slot that is written once, each read on its own',
    why: 'the latest row answers at every depth, so that both sides make the same Get; the ratio is within a hundredth of 1.',
  },
  {
    in: 'flatkv',
    rows: /\| loop: commit to a schedule, p99 over p50/,
    name: 'A commit to a schedule at p99, beside single commits',
    why: 'commits share two processors and their caches with flushes and merges of the store, an eighth of the processor time; the log is synced by another thread, but for one sync at each new segment.',
  },
  {
    in: 'flatkv',
    rows: /^imports of \d+ times/,
    name: 'An import with every state root beside one without any',
    why: 'for each block the paths of its keys in a trie of a million leaves are changed and hashed, and for each run of blocks their nodes are written, of which runs share only the upper ones; without roots there is no trie.',
  },
  {
    in: 'follow',
    rows: /from the text of a witness|the same with the state root/,
    name: 'A recorded block from the text of its witness',
    why: 'the execution beside it has its state in memory; of the witness, 1.2 MB a block, the nodes and codes are read from JSON and hexadecimal text (8 % of the samples of a profile), hashed (12 %) and made into objects (17 %).',
  },
  {
    in: 'follow',
    rows: /catching up, witnesses that the upstream serves/,
    name: 'Catching up on one processor',
    why: 'a follower recovers the senders of each block, a quarter of its processor time, and starts within the measured time; an upstream does neither for a witness.',
  },
  {
    in: 'follow',
    rows: /the same, baked, from memory/,
    name: 'Baked traces of a follower from memory',
    why: 'nearly all of it is sending answers of up to a megabyte to a client on the same two processors; a bare node:http server is no faster with such answers (section bake).',
  },
  {
    in: 'js',
    rows: /opcode histogram of an ERC-20 loop/,
    name: 'The histogram of an ERC-20 loop',
    why: 'a request has an isolate of its own, whose code V8 optimizes while it runs: half of the time is the same however many steps follow, and four times as many run at 1.7 times the rate.',
  },
  {
    in: 'js',
    rows: /the same, altering globals/,
    name: 'A block under a script that alters globals',
    why: 'each transaction has a realm of its own, which takes 0.56 ms to make: 0.35 ms the context, 0.21 ms what the inside puts into it.',
  },
  {
    in: 'js',
    rows: /^what honest clients notice \|/,
    name: 'Cheap requests beside hostile ones',
    why: 'the main thread of the node takes at most one and a half times its idle processor time (last column): what is left is waiting for one of the two processors, which run scripts and clients too.',
  },
  {
    in: 'js',
    rows: /^inside the pipeline, without RPC \|/,
    name: 'Hooks of this process',
    why: 'hooks are called through builtins of V8 (2 to 4 % of the samples of a profile), which a process of its own does without, and numbers that change at each step are stored with a write barrier (3 %).',
  },
  {
    in: 'littable',
    rows: /write 1 KiB values beside write\(2\) of 1 MiB/,
    name: 'Writes of 1 KiB values beside writes of 1 MiB',
    why: 'each value is copied (a tenth of the samples of a profile) and has its checksum (a tenth), its record (a seventh) and its key in the index (a tenth); write(2) of the same bytes in large pieces has none of them.',
  },
  {
    in: 'littable',
    rows: /warm get of 16 KiB/,
    name: 'Warm gets of 16 KiB',
    why: 'the look-up of the key takes the same microsecond for every size; with values of 64 KiB and more it is within the bound.',
  },
  {
    in: 'littable',
    rows: /warm get with 10,000 segments|the same with 256 open files/,
    name: 'Warm gets with 10,000 segments',
    why: 'each get is of another file, whose objects in the kernel (file, inode, tree of pages) are in no cache of the processor; with 256 open files 39 of 40 gets open theirs first, which looks its name up.',
  },
  {
    in: 'logs',
    rows: /by address, cold/,
    name: 'Cold searches by address',
    why: 'each of the hundred logs lies in another block, and a table of a million blocks has its rows on pages of their own: 301 MiB are read from the disk in place of 13.',
  },
  {
    in: 'overload',
    rows: /the mix of traces|traces a second|a quarter of it hostile scripts/,
    name: 'Cheap calls beside traces, and deadlines',
    why: 'the main thread and the client wait for one of the two processors, up to 7 ms at a time, while traces, scripts and their clients run there, and the hypervisor stops both processors for up to 26 ms just before an answer that is too late (perf sched): with both under SCHED_FIFO, the p99 beside the mix is 1.8 ms, and 8.9 with the client alone.',
  },
  {
    in: 'script',
    rows: /a step callback beside the sandbox/,
    name: 'A step callback of a script',
    why: 'hooks are called through builtins of V8 (2 to 4 % of the samples of a profile), which a process of its own does without.',
  },
  {
    in: 'start',
    rows: /first answer of hearth dev/,
    name: 'The first answer of a development chain',
    why: 'Node.js takes 19 of the 29 ms of the bare server; Hearth also reads and runs its program (15 ms), loads its library (3 ms) and makes its stores, with nine families of RocksDB (25 ms).',
  },
  {
    in: 'trace',
    rows: /the first of them|, its first/,
    name: 'The first transaction of a block',
    why: 'it has no predecessors to skip, so that both nodes execute one transaction.',
  },
]
