select certificate from bellhop.erasure where erasure_id::text = $1 and certificate is not null
