// Compiles RocksDB once a machine, as a few unity files, into the cache, and hands the library to
// every cargo profile.
//
// The crate compiles 343 C++ files one by one, once a profile: 14 minutes each on two cores. As a
// few unity files, without what is never linked, they take a seventh of that, once. A plain `cargo
// build` without this still works, the slow way.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { CACHE, output, ROOT, SetupError, say } from './env.mjs'
import { once } from './once.mjs'
import { timed } from './progress.mjs'

/**
 * Sources a unity file includes: headers, and templates that each file has, take 6 of its seconds;
 * more sources would need over 2.3 GB of memory a compiler.
 */
const SOURCES_PER_UNIT = 56

/**
 * How large the heap of g++ may get before it looks for unused memory, in KiB. It starts at 128 MiB
 * otherwise, and looking takes a tenth of the time. With this size a compiler takes 2.3 GB at most;
 * where there is less than `COMPILER_BYTES` of memory for each, g++ keeps its default. The code is
 * the same.
 */
const HEAP_KIB = 1_000_000
const COMPILER_BYTES = 3e9

/**
 * Sources that nothing of what is linked refers to, a quarter of all lines: databases on top of
 * RocksDB, transactions, backups, caches and file systems for tests and simulations, tools. The C
 * functions of some are there still, without what they call: the linker drops them, as it drops
 * every function that no crate uses. `checkWhole` finds where one is used after all.
 */
const LEFT_OUT = [
  /^utilities\/(agg_merge|backup|blob_db|cassandra|convenience|leveldb_options|memory|option_change_migration|options)\//,
  /^utilities\/(persistent_cache|secondary_index|simulator_cache|sorted_run_builder)\//,
  /^utilities\/transactions\/(?!snapshot_checker)/,
  /^utilities\/(cache_dump_load|cache_dump_load_impl|debug|env_mirror|fault_injection_\w+|types_util|trace\/file_trace_\w+)\.cc$/,
  /^cache\/(compressed|tiered)_secondary_cache\.cc$/,
  /^db\/(experimental|repair|blob\/blob_log_sequential_reader|db_impl\/db_impl_(debug|follower)|wide\/wide_columns_helper)\.cc$/,
  /^(env\/fs_on_demand|monitoring\/histogram_windowing|table\/(adaptive\/\w+|external_table|sst_file_dumper|sst_file_reader))\.cc$/,
  /^(tools\/dump\/|test_util\/transaction_test_util\.cc$)/,
]

/**
 * Sources that run for each key, value, block or entry of a cache: these are compiled with -O2, as
 * RocksDB's own Makefile does. All others (opening, options, choice of compactions, environments,
 * formats that no store here uses, and the C functions, each of which calls one of C++) are
 * compiled with -O1, in a quarter less time.
 */
const HOT = [
  /^(cache|memory|memtable|monitoring|port|table\/block_based)\//,
  /^table\/(block_fetcher|compaction_merging_iterator|format|get_context|iterator|merging_iterator|two_level_iterator|unique_id)\.cc$/,
  /^db\/(arena_wrapped_db_iter|builder|db_iter|dbformat|file_indexer|flush_job|log_reader|log_writer|lookup_key)\.cc$/,
  /^db\/(memtable|memtable_list|merge_helper|range_\w+|table_cache|version_set|write_batch|write_batch_base|write_thread)\.cc$/,
  /^db\/db_impl\/db_impl(_write)?\.cc$/,
  /^db\/compaction\/(clipping_iterator|compaction_iterator|compaction_job|compaction_outputs|subcompaction_state)\.cc$/,
  /^util\/(async_file_reader|cleanable|coding|comparator|compression|compression_context_cache|crc32c\w*)\.cc$/,
  /^util\/(dynamic_bloom|hash|ribbon_config|slice|status|thread_local|xxhash)\.cc$/,
  /^file\/(file_prefetch_buffer|random_access_file_reader|readahead_raf|writable_file_writer)\.cc$/,
]

/** The flags of librocksdb-sys's build.rs for Linux with the feature lz4, its only compression. */
const FLAGS = [
  '-std=c++20',
  '-fPIC',
  '-ffunction-sections',
  '-fdata-sections',
  '-w',
  '-include',
  'cstdint',
  '-DLZ4=1',
  '-DNDEBUG=1',
  '-DHAVE_ALIGNED_NEW',
  '-DHAVE_UINT128_EXTENSION',
  '-DROCKSDB_PLATFORM_POSIX',
  '-DROCKSDB_LIB_IO_POSIX',
  '-fno-strict-aliasing',
]
const LINUX_FLAGS = [
  '-DOS_LINUX',
  '-DROCKSDB_SCHED_GETCPU_PRESENT',
  '-DROCKSDB_AUXV_GETAUXVAL_PRESENT',
  '-DROCKSDB_FALLOCATE_PRESENT',
  '-DROCKSDB_RANGESYNC_PRESENT',
]

function targetFlags(arch) {
  // SSE4.2 gives hardware CRC32C; every x86-64 machine since 2011 has it.
  const processor = arch === 'x64' ? ['-msse2', '-msse4.1', '-msse4.2', '-mpclmul'] : ['-march=armv8-a+crc+aes+crypto']
  return [...LINUX_FLAGS, ...processor]
}

/** Rust's name of the systems that the crates are fetched for. */
const PLATFORMS = { x64: 'x86_64-unknown-linux-gnu', arm64: 'aarch64-unknown-linux-gnu' }

/** Where cargo has unpacked the sources; it fetches the crates of this platform and no others. */
function crates(arch) {
  const platform = ['--filter-platform', PLATFORMS[arch]]
  const manifest = ['--manifest-path', path.join(ROOT, 'Cargo.toml')]
  const text = output('cargo', ['metadata', '--format-version', '1', '--locked', ...platform, ...manifest], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (!text)
    throw new SetupError(
      'cargo metadata failed. Type: cargo metadata --locked (Rust 1.95 or newer is needed; install it with rustup), fix what it reports, then run the command again.',
    )
  const dirs = {}
  for (const p of JSON.parse(text).packages)
    if (['librocksdb-sys', 'lz4-sys'].includes(p.name)) dirs[p.name] = { dir: path.dirname(p.manifest_path), version: p.version }
  return dirs
}

function archive(ar, objects, file) {
  if (output(ar, ['crs', file, ...objects]) === undefined)
    throw new SetupError(`${ar} failed. Type: sudo apt-get install -y build-essential cmake, then run the command again.`)
}

function compile(compiler, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(compiler, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let err = ''
    child.stderr.on('data', (d) => {
      err = (err + d).slice(-4000)
    })
    child.once('error', reject)
    // Not `exit`, which comes before the last output. Where memory is short, a signal ends it.
    child.once('close', (code, signal) =>
      code === 0 ? resolve(undefined) : reject(new SetupError(`${compiler} failed on RocksDB (${signal ?? code}):\n${err}`)),
    )
  })
}

/**
 * The unity files of the library: `{ file, level }`, written into a folder, those that take longest
 * first.
 */
function unityFiles(sys, dir) {
  const listed = fs.readFileSync(path.join(sys, 'rocksdb_lib_sources.txt'), 'utf8').split('\n')
  const wanted = listed
    .map((line) => line.trim())
    .filter((name) => name && name !== 'util/build_version.cc' && !LEFT_OUT.some((some) => some.test(name)))
  const isHot = (name) => HOT.some((some) => some.test(name))
  const paths = (names) => names.map((name) => path.join(sys, 'rocksdb', name))
  const units = []
  const write = (sources, level) => {
    // Parts of about equal size, so that no compiler is left with a small one at the end.
    const count = Math.ceil(sources.length / SOURCES_PER_UNIT)
    for (let i = 0; i < count; i++) {
      const file = path.join(dir, `unit${units.length}.cc`)
      const part = sources.slice(Math.floor((i * sources.length) / count), Math.floor(((i + 1) * sources.length) / count))
      fs.writeFileSync(file, part.map((source) => `#include "${source}"\n`).join(''))
      units.push({ file, level })
    }
  }
  write(paths(wanted.filter(isHot)), '-O2')
  write([...paths(wanted.filter((name) => !isHot(name))), path.join(sys, 'build_version.cc')], '-O1')
  return units
}

/**
 * Refuses a library of the core that uses symbols of RocksDB and does not have them: those of a
 * source that must not be left out. The linker accepts them in a shared library, and refuses them
 * in a program.
 */
export function checkWhole(library, nm = 'nm') {
  const symbols = output(nm, ['--dynamic', '--undefined-only', '--demangle', library])
  if (symbols === undefined)
    throw new SetupError(`${nm} cannot read ${library}. Type: sudo apt-get install -y binutils, then run the command again.`)
  const missing = missingSymbols(symbols)
  if (missing.length > 0)
    throw new SetupError(`RocksDB is not whole: a source in LEFT_OUT (native/setup/rocksdb.mjs) defines ${missing.join(', ')}.`)
}

/** Symbols of RocksDB in a list of undefined ones, as `nm --demangle` prints it. */
export const missingSymbols = (listed) =>
  listed
    .split('\n')
    .map((line) => /^ *U (.*\brocksdb(?:::|_).*)$/.exec(line)?.[1])
    .filter((name) => name !== undefined)

async function build(sys, includes, flags, { compiler, ar }, dir) {
  const partial = `${dir}.partial-${process.pid}`
  fs.rmSync(partial, { recursive: true, force: true })
  fs.mkdirSync(partial, { recursive: true })
  const units = unityFiles(sys, partial)
  const compilers = Math.min(os.availableParallelism(), units.length)
  // Of a container, the memory that it may use.
  const memory = Math.min(os.totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  const heap = memory / compilers < COMPILER_BYTES ? [] : ['--param', `ggc-min-heapsize=${HEAP_KIB}`]
  let done = 0
  const waiting = [...units]
  const worker = async () => {
    for (let unit = waiting.shift(); unit; unit = waiting.shift()) {
      const { file, level } = unit
      await compile(compiler, [level, ...heap, ...flags, ...includes.map((i) => `-I${i}`), '-c', file, '-o', file.replace(/cc$/, 'o')])
      say(`RocksDB ${++done}/${units.length}`)
    }
  }
  await Promise.all(Array.from({ length: compilers }, worker))
  const library = path.join(partial, 'librocksdb.a')
  archive(
    ar,
    units.map(({ file }) => file.replace(/cc$/, 'o')),
    library,
  )
  for (const name of fs.readdirSync(partial)) if (name.startsWith('unit')) fs.rmSync(path.join(partial, name))
  try {
    fs.renameSync(partial, dir)
  } catch (e) {
    // Another process published the same library first: equally good.
    if (!fs.existsSync(path.join(dir, 'librocksdb.a'))) throw e
    fs.rmSync(partial, { recursive: true, force: true })
  }
}

/** The processor and the tools of this machine. */
const thisMachine = () => ({ arch: process.arch, compiler: process.env.CXX ?? 'g++', ar: 'ar' })

/**
 * Environment variables with which librocksdb-sys links the prebuilt library; builds it where it is
 * missing.
 */
export async function rocksdbEnv(machine = thisMachine()) {
  const { arch, compiler } = machine
  const version = output(compiler, ['--version'])
  if (!version)
    throw new SetupError('a C++ compiler and cmake are needed. Type: sudo apt-get install -y g++ cmake, then run the command again.')
  const found = crates(arch)
  const sys = found['librocksdb-sys'].dir
  const includes = [
    path.join(sys, 'rocksdb/include'),
    path.join(sys, 'rocksdb'),
    path.join(sys, 'rocksdb/third-party/gtest-1.8.1/fused-src'),
    sys,
    path.join(found['lz4-sys'].dir, 'liblz4/lib'),
  ]
  // Names of folders do not get into the library.
  const flags = [...FLAGS, ...targetFlags(arch), `-ffile-prefix-map=${path.dirname(sys)}=/cargo`]
  const versions = Object.entries(found)
    .map(([n, c]) => `${n} ${c.version}`)
    .sort()
  const key = createHash('sha256')
    .update(JSON.stringify([versions, version, flags, [...LEFT_OUT, ...HOT].map(String), SOURCES_PER_UNIT, process.platform, arch]))
    .digest('hex')
    .slice(0, 16)
  const dir = path.join(CACHE, `rocksdb-${found['librocksdb-sys'].version.replace('+', '-')}-${key}`)
  await once(path.join(dir, 'librocksdb.a'), 'RocksDB', async () => {
    await timed('RocksDB', () => build(sys, includes, flags, machine, dir), {
      note: arch === process.arch ? ', once for this machine' : `, for ${arch}`,
      keep: arch === process.arch,
    })
  })
  return { ROCKSDB_LIB_DIR: dir, ROCKSDB_STATIC: '1' }
}
