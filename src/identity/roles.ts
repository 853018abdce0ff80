/** Roles of console operators in ascending order; each includes the permissions of those before it. */
export const ROLES = ["viewer", "revenue", "operator", "admin"] as const;

export type Role = (typeof ROLES)[number];

/** The lowest role with each permission. Every console route names one of these. */
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

/** An operator's role and grants. */
export interface OperatorRights {
  readonly role: Role;
  readonly grants: readonly string[];
}
