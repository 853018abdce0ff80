/** The value stored in this browser; null if there is none or storage is unavailable. */
export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Without storage, a choice lasts as long as the page. */
export function store(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Storage is full or disabled.
  }
}
