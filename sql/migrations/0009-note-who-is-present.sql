-- Who takes part: one row for each role of a session that stands for a node (its own, which accepts or reads) or for one
-- of its appliers. As a lease, a row is worth as much as its backend: one that is gone, or has not heard of its client for
-- some seconds, does not count. So nobody writes anything to stay.
create table bellhop.presence (
  presence_id bigint generated always as identity primary key,
  role text not null,
  owner text not null,
  backend_pid integer not null,
  backend_start timestamptz not null,
  entered_at timestamptz not null default clock_timestamp()
);
