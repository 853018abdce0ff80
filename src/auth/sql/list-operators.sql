select name, created_at as "createdAt", password_changed_at as "passwordChangedAt", last_login_at as "lastLoginAt",
  disabled_at as "disabledAt"
from bellhop.operator
order by name
limit $1
