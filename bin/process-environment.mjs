import { join } from "node:path";

/**
 * By its default glibc's malloc has 8 arenas a core, and threads that make and drop large buffers leave holes in each:
 * with it a service under full load held 440 MB, with two arenas 320.
 */
const ARENAS_MAX = "2";
/**
 * Larger blocks go back to the system when they are freed. By its default glibc keeps them once it has seen a few, up to 32 MiB
 * each, and a hundred large bodies leave 250 MB of holes.
 */
const MAPPED_BYTES_MIN = String(2 ** 20);

/**
 * Young objects of each thread, in MiB of each of three spaces. By Node's choice, 16, the buffers of a flood of bodies stay longer
 * than they are used.
 */
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
    // Compiled code and stripped types from the first module on: asked for within (src/compile-cache.ts) it comes after the
    // first one of each thread, for which Node then loads its TypeScript compiler, 19 MB each.
    NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "bellhop"),
  };
}
