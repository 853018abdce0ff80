import type pg from "pg";

/** Placeholder until the analytics views land (migration 0004). */
export async function rebindViews(_client: pg.ClientBase): Promise<void> {}
