import { join } from "node:path";

/** glibc's default of 8 malloc arenas per core fragments memory: under full load 440 MB instead of 320 MB with two. */
const ARENAS_MAX = "2";
/**
 * Larger blocks return to the system when freed. By default glibc raises the threshold to 32 MiB, and a hundred large
 * bodies leave 250 MB of fragments.
 */
const MAPPED_BYTES_MIN = String(2 ** 20);

/** MiB of each of the three young-generation spaces per thread. With Node's default of 16, buffers of large bodies are collected late. */
const YOUNG_MIB = 4;

/**
 * What the service's process finds set unless somebody set it otherwise: by bin/launch.mjs, and in an image by the Dockerfile.
 *
 * @param {string} root the checkout
 */
export function processEnvironment(root) {
  return {
    MALLOC_ARENA_MAX: ARENAS_MAX,
    MALLOC_MMAP_THRESHOLD_: MAPPED_BYTES_MIN,
    NODE_OPTIONS: `--max-semi-space-size=${YOUNG_MIB}`,
    // Set before the first module: enabling the cache at run time (src/compile-cache.ts) would make Node load its
    // TypeScript compiler in each thread, 19 MB each.
    NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "bellhop"),
  };
}
