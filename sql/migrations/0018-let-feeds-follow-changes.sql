-- The change feed (docs/changes.md) reads the changes of a bucket in the order of their numbers. Versions that changed
-- nothing (unchanged, stale) have none, and are not in these indexes.
create index inventory_version_change on bellhop_state.inventory_version (bucket, change_no) where change_no is not null;
create index reservation_version_change on bellhop_state.reservation_version (bucket, change_no) where change_no is not null;
create index group_version_change on bellhop_state.group_version (bucket, change_no) where change_no is not null;

-- Whether a change replaced another version of its record, or brought a record that had none: written with the change, as
-- looking for an earlier version of an inventory record reads its property's versions (0006). Null counts as false.
alter table bellhop_state.inventory_version add column is_update boolean;
alter table bellhop_state.reservation_version add column is_update boolean;
alter table bellhop_state.group_version add column is_update boolean;

update bellhop_state.inventory_version as version set is_update = true
from (
  select bucket, property_id, key, min(change_no) as change_no from bellhop_state.inventory_version
  where change_no is not null group by bucket, property_id, key having count(*) > 1
) as first
where version.bucket = first.bucket and version.property_id = first.property_id and version.key = first.key
  and version.change_no > first.change_no;
update bellhop_state.reservation_version as version set is_update = true
from (
  select bucket, property_id, key, min(change_no) as change_no from bellhop_state.reservation_version
  where change_no is not null group by bucket, property_id, key having count(*) > 1
) as first
where version.bucket = first.bucket and version.property_id = first.property_id and version.key = first.key
  and version.change_no > first.change_no;
update bellhop_state.group_version as version set is_update = true
from (
  select bucket, property_id, key, min(change_no) as change_no from bellhop_state.group_version
  where change_no is not null group by bucket, property_id, key having count(*) > 1
) as first
where version.bucket = first.bucket and version.property_id = first.property_id and version.key = first.key
  and version.change_no > first.change_no;
