/**
 * Frees a buffer's memory if no other buffer shares it; its views must not be used afterwards. Memory that is left to the garbage collector
 * counts toward the heap, which then marks all of the heap to free it. `unused`: bytes of the memory after the buffer.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array, unused = 0): void {
  const isAlone = byteLength > 0 && buffer.byteLength === byteLength + unused;
  if (isAlone && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
