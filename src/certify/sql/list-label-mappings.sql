-- What the operator says that labels of reservations mean, of these client codes.
select client_code, label, deducts from bellhop.status_mapping where resource = 'r' and client_code = any ($1)
