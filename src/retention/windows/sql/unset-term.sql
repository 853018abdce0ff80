delete from bellhop.property_setting where client_code = $1 and property_code is null and name = any ($2::text[])
