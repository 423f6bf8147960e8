// The tools that a build needs: which version, and the one sentence that says what to type where
// one is missing.
import { output, SetupError } from './env.mjs'

/** @type {[major: number, minor: number]} */
const RUST = [1, 95]
const APT = 'Type: sudo apt-get install -y build-essential cmake, then run the command again.'

const atLeast = (text, [major, minor]) => {
  const found = /(\d+)\.(\d+)/.exec(text ?? '')
  return found !== null && (Number(found[1]) > major || (Number(found[1]) === major && Number(found[2]) >= minor))
}

/** Processors that there are binaries and tested builds for. */
const PROCESSORS = ['x64', 'arm64']

/**
 * Refuses other systems than those that the core is written for: it confines its child processes
 * with Linux's own means.
 */
export function checkPlatform() {
  if (process.platform === 'linux' && PROCESSORS.includes(process.arch)) return
  throw new SetupError(
    `Hearth runs on Linux (${PROCESSORS.join(' or ')}, with glibc), and this is ${process.platform}-${process.arch}. Run it in a container (docs/examples/Containerfile) or in a virtual machine with Linux.`,
  )
}

/** Refuses a machine without npm. */
export function checkNpm() {
  if (output('npm', ['--version']) === undefined)
    throw new SetupError('npm is missing. Type: sudo apt-get install -y npm, then run the command again.')
}

/** Refuses a machine without Rust, a C++ compiler or cmake. */
export function checkCompilers() {
  const cargo = output('cargo', ['--version'])
  const rustup = 'Type: curl https://sh.rustup.rs -sSf | sh -s -- -y && . "$HOME/.cargo/env", then run the command again.'
  if (cargo === undefined) throw new SetupError(`Rust ${RUST.join('.')} or newer is needed, and cargo is missing. ${rustup}`)
  if (!atLeast(cargo, RUST)) {
    throw new SetupError(
      `Rust ${RUST.join('.')} or newer is needed, this is ${cargo}. Type: rustup update stable, then run the command again.`,
    )
  }
  const compiler = process.env.CXX ?? 'g++'
  if (output(compiler, ['--version']) === undefined) throw new SetupError(`A C++ compiler is needed, and ${compiler} is missing. ${APT}`)
  if (output('cmake', ['--version']) === undefined) throw new SetupError(`cmake is needed and is missing. ${APT}`)
}
