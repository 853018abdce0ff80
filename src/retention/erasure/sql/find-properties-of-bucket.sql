select client_code, property_code, property_id from bellhop.property where bucket = $1
