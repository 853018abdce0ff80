import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

/**
 * Halves the CPU time of every command and start (1.3 s to 0.6 s). Without write access it does nothing; it lies beside
 * the packages, so that write access to it grants no more than write access to the code. Each thread calls this before
 * its other imports, and writes the cache with `flushCompileCache`, as a killed service writes nothing.
 */
export function useCompileCache(): void {
  enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/bellhop", import.meta.url)));
}
