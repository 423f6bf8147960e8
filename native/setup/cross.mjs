// Builds the binaries for another processor than this machine's, for a release: the core with
// Rust's target and GCC's cross compiler, isolated-vm with the same compiler and the headers of
// each Node.
//
//   node native/setup/build.mjs linux-arm64-gnu     native/hearth.linux-arm64-gnu.node and
//                                                   native/arm64/isolated-vm-*.node
import fs from 'node:fs'
import path from 'node:path'
import { output, ROOT, SetupError } from './env.mjs'
import { libclangEnv } from './libclang.mjs'
import { rocksdbEnv } from './rocksdb.mjs'

/** Machines that binaries are built for from an x64 one, by the name that napi gives them. */
export const MACHINES = {
  'linux-arm64-gnu': { arch: 'arm64', target: 'aarch64-unknown-linux-gnu', tools: 'aarch64-linux-gnu' },
}

/**
 * Folder of the libraries of isolated-vm for another processor, which have the names of this one's.
 */
export const librariesOf = ({ arch }) => path.join(ROOT, 'native', arch)

/** Refuses a machine without the cross compiler or Rust's standard library for the target. */
export function checkCross({ target, tools }) {
  if (process.arch !== 'x64')
    throw new SetupError(`Binaries for ${target} are built on that machine or on x64, and this is ${process.arch}.`)
  if (output(`${tools}-g++`, ['--version']) === undefined)
    throw new SetupError(`${tools}-g++ is missing. Type: sudo apt-get install -y g++-${tools}, then run the command again.`)
  const root = output('rustc', ['--print', 'sysroot'])
  if (root === undefined || !fs.existsSync(path.join(root, 'lib/rustlib', target, 'lib')))
    throw new SetupError(`Rust has no standard library for ${target}. Type: rustup target add ${target}, then run the command again.`)
}

/** The variables with which node-gyp and the `cc` crate find the cross compiler. */
export const compilerEnv = ({ tools }) => ({ CC: `${tools}-gcc`, CXX: `${tools}-g++`, AR: `${tools}-ar` })

/** The environment of cargo for a machine: linker, compilers, RocksDB, headers for bindgen. */
export async function crossEnv(machine) {
  const { arch, target, tools } = machine
  const { CC, CXX, AR } = compilerEnv(machine)
  const suffix = target.replaceAll('-', '_')
  const { BINDGEN_EXTRA_CLANG_ARGS: _, ...libclang } = libclangEnv()
  const include = output(CC, ['-print-file-name=include'])
  return {
    ...libclang,
    ...(await rocksdbEnv({ arch, compiler: CXX, ar: AR })),
    [`CARGO_TARGET_${suffix.toUpperCase()}_LINKER`]: CC,
    [`CC_${suffix}`]: CC,
    [`CXX_${suffix}`]: CXX,
    [`AR_${suffix}`]: AR,
    [`BINDGEN_EXTRA_CLANG_ARGS_${suffix}`]: `-I${include} -I/usr/${tools}/include`,
  }
}
