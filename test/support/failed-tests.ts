let hasFailed = false;

/** scripts/test-process.ts calls it for each test that fails. */
export function noteFailedTest(): void {
  hasFailed = true;
}

/** Whether a test of this process has failed; after the first file with one, the process takes no other. */
export function hasFailedTest(): boolean {
  return hasFailed;
}
