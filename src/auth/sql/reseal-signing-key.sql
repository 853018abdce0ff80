update bellhop.signing_key set private_key = $3 where kid = $1 and private_key = $2
