-- What a point-in-time answer promises (docs/decisions/0020): no batch that is not visible yet will be received at or below
-- `promised`, as whoever appends looks here and refuses such ids; at or below `settled` nothing that began before it could look
-- is under way any more, either.
create table bellhop.receipt_promise (
  is_only boolean primary key default true check (is_only),
  promised uuid not null default '00000000-0000-0000-0000-000000000000',
  settled uuid not null default '00000000-0000-0000-0000-000000000000'
);
insert into bellhop.receipt_promise default values;
