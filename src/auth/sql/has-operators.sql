select exists (select from bellhop.operator where disabled_at is null) as found
