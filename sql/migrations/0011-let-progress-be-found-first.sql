-- Cursors and counters of changes move with every apply transaction. While somebody holds a snapshot (a long query, a session
-- left open) no earlier version of a row may go, and whoever looked by the bucket alone would pass all of them: 26 ms a
-- transaction after half an hour. So what moves is the last column of the key, and is looked up as its greatest: that is the
-- first entry of the index from its end, however many are dead below it. There is still one row each.
alter table bellhop_state.apply_cursor
  drop constraint apply_cursor_pkey,
  add constraint apply_cursor_pkey primary key (bucket, lane_id, request_id);

create table bellhop.change_counter (
  bucket smallint not null,
  next_change bigint not null,
  primary key (bucket, next_change)
);
insert into bellhop.change_counter (bucket, next_change) select bucket, next_change from bellhop.bucket_lease;
alter table bellhop.bucket_lease drop column next_change;
