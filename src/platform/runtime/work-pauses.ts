/** How long a computation keeps the thread's other requests waiting, and for how long it then leaves the processor to them. */
const WORK_MS = 2;
const PAUSE_MS = 2;

/**
 * The pauses of a long computation on a thread that serves other requests. A pause is a wait, not only a turn of the event loop:
 * on a busy machine the database processes of those requests need the processor, too.
 */
export class WorkPauses {
  #workingSince = performance.now();

  /** Whether the computation has worked for long enough; to be asked between its steps. */
  get isDue(): boolean {
    return performance.now() - this.#workingSince >= WORK_MS;
  }

  async pause(): Promise<void> {
    await new Promise((resume) => setTimeout(resume, PAUSE_MS));
    this.#workingSince = performance.now();
  }
}
