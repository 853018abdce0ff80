update bellhop.receipt_promise set settled = greatest(settled, $1::uuid)
