// Finds libclang, which the generator of RocksDB's bindings loads; fetches it without root where
// there is none.
import fs from 'node:fs'
import path from 'node:path'
import { CACHE, output, SetupError, say } from './env.mjs'
import { pinRefusal } from './pins.mjs'

/** The wheel that carries libclang alone; 18.1.1 is the version tried with librocksdb-sys. */
const WHEEL = 'libclang==18.1.1'
const NAMES = /^libclang(-\d+(\.\d+)*)?\.(so(\.\d+)*|dylib)$/

const holdsLibclang = (dir) => fs.existsSync(dir) && fs.readdirSync(dir).some((name) => NAMES.test(name))

function commonFolders() {
  const llvm = fs.existsSync('/usr/lib')
    ? fs
        .readdirSync('/usr/lib')
        .filter((n) => n.startsWith('llvm'))
        .map((n) => `/usr/lib/${n}/lib`)
    : []
  return [
    ...llvm.sort().reverse(),
    '/usr/lib/x86_64-linux-gnu',
    '/usr/lib/aarch64-linux-gnu',
    '/usr/lib64',
    '/usr/lib',
    '/usr/local/lib',
    '/opt/homebrew/opt/llvm/lib',
    '/usr/local/opt/llvm/lib',
    '/Library/Developer/CommandLineTools/usr/lib',
  ]
}

function present() {
  const asked = process.env.LIBCLANG_PATH
  if (asked) {
    if (fs.existsSync(asked) && (fs.statSync(asked).isFile() || holdsLibclang(asked))) return asked
    throw new SetupError(`LIBCLANG_PATH is ${asked}, which holds no libclang. Unset it, or point it at the folder of libclang.so.`)
  }
  const llvm = output('llvm-config', ['--libdir'])
  return [...(llvm ? [llvm] : []), ...commonFolders()].find(holdsLibclang)
}

/**
 * The folder of libclang inside an unpacked wheel; wheels place it at the top or under
 * `*.data/platlib`.
 */
function unpackedFolder(dir) {
  if (!fs.existsSync(dir)) return undefined
  const data = fs
    .readdirSync(dir)
    .filter((n) => n.endsWith('.data'))
    .map((n) => path.join(dir, n, 'platlib/clang/native'))
  return [path.join(dir, 'clang/native'), ...data].find(holdsLibclang)
}

/**
 * The folder of libclang out of the wheel, which is fetched where the cache does not have it.
 * `pins` holds the digests to accept.
 */
export function fetchWheel(pins) {
  const dir = path.join(CACHE, WHEEL.replace('==', '-'))
  const cached = unpackedFolder(dir)
  if (cached) return cached
  say('no libclang on this machine: fetching the libclang wheel (24 MB) into the cache')
  const partial = `${dir}.partial-${process.pid}`
  fs.mkdirSync(partial, { recursive: true })
  const python = ['python3', 'python'].find((p) => output(p, ['-m', 'pip', '--version']))
  const fetched =
    python && output(python, ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '-d', partial, WHEEL]) !== undefined
  const wheel = fetched && fs.readdirSync(partial).find((n) => n.endsWith('.whl'))
  const refusal = wheel ? pinRefusal(path.join(partial, wheel), pins) : undefined
  if (refusal !== undefined) {
    fs.rmSync(partial, { recursive: true, force: true })
    throw new SetupError(
      `${refusal}. Type: sudo apt-get install -y libclang-14-dev (or set LIBCLANG_PATH to the folder of libclang.so), then run the command again.`,
    )
  }
  const unpacked = wheel && output(python, ['-m', 'zipfile', '-e', path.join(partial, wheel), partial]) !== undefined
  if (!unpacked || !unpackedFolder(partial)) {
    fs.rmSync(partial, { recursive: true, force: true })
    throw new SetupError(
      'libclang is missing and could not be fetched. Type: sudo apt-get install -y libclang-14-dev (or set LIBCLANG_PATH to the folder of libclang.so), then run the command again.',
    )
  }
  fs.rmSync(path.join(partial, wheel))
  try {
    fs.renameSync(partial, dir)
  } catch (e) {
    // Another process published the same wheel first: equally good.
    if (!unpackedFolder(dir)) throw e
    fs.rmSync(partial, { recursive: true, force: true })
  }
  return unpackedFolder(dir)
}

/** Environment variables under which bindgen finds libclang and the compiler's own headers. */
export function libclangEnv() {
  const found = present()
  const dir = found ?? fetchWheel()
  const env = { LIBCLANG_PATH: dir }
  // A libclang without its compiler has no builtin headers (stddef.h); gcc's serve.
  const include = output('gcc', ['-print-file-name=include'])
  if (include && path.isAbsolute(include) && !process.env.BINDGEN_EXTRA_CLANG_ARGS) env.BINDGEN_EXTRA_CLANG_ARGS = `-I${include}`
  return env
}
