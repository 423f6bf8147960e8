// Compiles RocksDB once a machine, as a few unity files, into the cache, and hands the library to
// every cargo profile.
//
// The crate compiles 343 C++ files one by one, once a profile: 14 minutes each on two cores. As 14
// unity files the same sources with the same flags take 3 minutes, once. A plain `cargo build`
// without this still works, the slow way.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { CACHE, output, ROOT, SetupError, say } from './env.mjs'
import { once } from './once.mjs'
import { timed } from './progress.mjs'

/**
 * Sources a unity file includes: more would save little and need over 2 GiB of memory a compiler.
 */
const SOURCES_PER_UNIT = 25

/** The flags of librocksdb-sys's build.rs for Linux and macOS with the features lz4 and zstd. */
const FLAGS = [
  '-std=c++20',
  '-O3',
  '-fPIC',
  '-ffunction-sections',
  '-fdata-sections',
  '-w',
  '-include',
  'cstdint',
  '-DLZ4=1',
  '-DZSTD=1',
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

function targetFlags() {
  const platform = process.platform === 'linux' ? LINUX_FLAGS : ['-DOS_MACOSX']
  // SSE4.2 gives hardware CRC32C; every x86-64 machine since 2011 has it.
  if (process.arch === 'x64') return [...platform, '-msse2', '-msse4.1', '-msse4.2', '-mpclmul']
  return process.arch === 'arm64' && process.platform === 'linux' ? [...platform, '-march=armv8-a+crc+aes+crypto'] : platform
}

function crates() {
  const text = output('cargo', ['metadata', '--format-version', '1', '--locked', '--manifest-path', path.join(ROOT, 'Cargo.toml')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (!text)
    throw new SetupError(
      'cargo metadata failed. Type: cargo metadata --locked (Rust 1.95 or newer is needed; install it with rustup), fix what it reports, then run the command again.',
    )
  const dirs = {}
  for (const p of JSON.parse(text).packages)
    if (['librocksdb-sys', 'lz4-sys', 'zstd-sys'].includes(p.name))
      dirs[p.name] = { dir: path.dirname(p.manifest_path), version: p.version }
  return dirs
}

function archive(objects, file) {
  if (output('ar', ['crs', file, ...objects]) === undefined)
    throw new SetupError('ar failed. Type: sudo apt-get install -y build-essential cmake, then run the command again.')
}

function compile(compiler, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(compiler, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let err = ''
    child.stderr.on('data', (d) => {
      err = (err + d).slice(-4000)
    })
    child.once('error', reject)
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new SetupError(`${compiler} failed on RocksDB (${code}):\n${err}`))))
  })
}

async function build(sys, includes, flags, compiler, dir) {
  const partial = `${dir}.partial-${process.pid}`
  fs.rmSync(partial, { recursive: true, force: true })
  fs.mkdirSync(partial, { recursive: true })
  const sources = fs
    .readFileSync(path.join(sys, 'rocksdb_lib_sources.txt'), 'utf8')
    .split('\n')
    .map((s) => s.trim())
    .filter((s) => s && s !== 'util/build_version.cc')
    .map((s) => path.join(sys, 'rocksdb', s))
  sources.push(path.join(sys, 'build_version.cc'))
  const units = []
  for (let i = 0; i < sources.length; i += SOURCES_PER_UNIT) {
    const file = path.join(partial, `unit${units.length}.cc`)
    fs.writeFileSync(
      file,
      sources
        .slice(i, i + SOURCES_PER_UNIT)
        .map((s) => `#include "${s}"\n`)
        .join(''),
    )
    units.push(file)
  }
  let done = 0
  const waiting = [...units]
  const worker = async () => {
    for (let unit = waiting.shift(); unit; unit = waiting.shift()) {
      await compile(compiler, [...flags, ...includes.map((i) => `-I${i}`), '-c', unit, '-o', unit.replace(/cc$/, 'o')])
      say(`RocksDB ${++done}/${units.length}`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(os.availableParallelism(), units.length) }, worker))
  archive(
    units.map((u) => u.replace(/cc$/, 'o')),
    path.join(partial, 'librocksdb.a'),
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

/**
 * Environment variables with which librocksdb-sys links the prebuilt library; builds it where it is
 * missing.
 */
export async function rocksdbEnv() {
  const compiler = process.env.CXX ?? 'g++'
  const version = output(compiler, ['--version'])
  if (!version)
    throw new SetupError('a C++ compiler and cmake are needed. Type: sudo apt-get install -y g++ cmake, then run the command again.')
  const found = crates()
  const sys = found['librocksdb-sys'].dir
  const includes = [
    path.join(sys, 'rocksdb/include'),
    path.join(sys, 'rocksdb'),
    path.join(sys, 'rocksdb/third-party/gtest-1.8.1/fused-src'),
    sys,
    path.join(found['lz4-sys'].dir, 'liblz4/lib'),
    path.join(found['zstd-sys'].dir, 'zstd/lib'),
  ]
  const flags = [...FLAGS, ...targetFlags()]
  const versions = Object.entries(found)
    .map(([n, c]) => `${n} ${c.version}`)
    .sort()
  const key = createHash('sha256')
    .update(JSON.stringify([versions, version, flags, process.platform, process.arch]))
    .digest('hex')
    .slice(0, 16)
  const dir = path.join(CACHE, `rocksdb-${found['librocksdb-sys'].version.replace('+', '-')}-${key}`)
  await once(path.join(dir, 'librocksdb.a'), 'RocksDB', async () => {
    await timed('RocksDB', () => build(sys, includes, flags, compiler, dir), { note: ', once for this machine' })
  })
  return { ROCKSDB_LIB_DIR: dir, ROCKSDB_STATIC: '1' }
}
