-- Promises (0016) where tables are distributed (docs/decisions/0020): a flush of one bucket is one statement of that bucket's worker,
-- and looks here, as it cannot look at what lies on the coordinator. Without Citus nobody reads or writes it.
create table bellhop.bucket_promise (
  bucket smallint primary key,
  promised uuid not null default '00000000-0000-0000-0000-000000000000',
  settled uuid not null default '00000000-0000-0000-0000-000000000000'
);
insert into bellhop.bucket_promise (bucket) select generate_series(0, 63);
