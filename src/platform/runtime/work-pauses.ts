/** Work between pauses, and length of a pause. */
const WORK_MS = 2;
const PAUSE_MS = 2;

/**
 * Pauses of a long computation on a thread that serves other requests. A pause is a timer, not only a turn of the event loop, because
 * database processes need the CPU too.
 */
export class WorkPauses {
  #workingSince = performance.now();

  /** Whether to pause now; check between steps. */
  get isDue(): boolean {
    return performance.now() - this.#workingSince >= WORK_MS;
  }

  async pause(): Promise<void> {
    await new Promise((resume) => setTimeout(resume, PAUSE_MS));
    this.#workingSince = performance.now();
  }
}
