-- Which version a node is of (docs/upgrades.md): what older ones could not read is not begun while one of them is there. Null: 0.1.0,
-- which knows nothing of it.
alter table bellhop.presence add column version text;
