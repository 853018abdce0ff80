/** What this browser keeps under a name; null where it keeps nothing, or may not. */
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
    // It is full, or forbidden.
  }
}
