-- Promises up to $1, unless more is promised already.
update bellhop.receipt_promise set promised = greatest(promised, $1::uuid) returning promised::text as promised
