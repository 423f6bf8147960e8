// Processes of this machine.

/** Whether there is such a process. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (e) {
    // A process of another user is alive too.
    return (e as NodeJS.ErrnoException).code === 'EPERM'
  }
}
