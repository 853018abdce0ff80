-- At or below it no id is taken any more.
select promised::text as promised from bellhop.receipt_promise
