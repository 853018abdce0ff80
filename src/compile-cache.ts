import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

/**
 * Halves the CPU time of every command and start (1.3 s to 0.6 s). Without write access it does nothing. The cache is stored beside the
 * packages, so write access to it implies write access to the code. Each thread calls this before its other imports, and
 * `flushCompileCache` afterwards, as a killed service writes nothing.
 */
export function useCompileCache(): void {
  enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/bellhop", import.meta.url)));
}
