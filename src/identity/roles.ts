/** What an operator of the console may do, the least first: each role may do what those before it may. */
export const ROLES = ["viewer", "revenue", "operator", "admin"] as const;

export type Role = (typeof ROLES)[number];

/** The least role of each permission. Every route of the console names one of these. */
const PERMISSIONS = {
  /** Their own session, password and second factor. */
  "own-account": "viewer",
  "read-data": "viewer",
  "change-settings": "revenue",
  "resolve-quarantine": "operator",
  "sign-backfills": "operator",
  "manage-webhooks": "operator",
  "manage-certifications": "operator",
  "read-clients": "operator",
  "manage-clients": "admin",
  "manage-operators": "admin",
  "read-audit": "admin",
} as const satisfies Record<string, Role>;

export type Permission = keyof typeof PERMISSIONS;

export function leastRoleFor(permission: Permission): Role {
  return PERMISSIONS[permission];
}

export function isAllowed(role: Role, permission: Permission): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(PERMISSIONS[permission]);
}

export function permissionsOf(role: Role): Permission[] {
  return (Object.keys(PERMISSIONS) as Permission[]).filter((permission) => isAllowed(role, permission));
}
