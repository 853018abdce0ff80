. ./bellhop.sh

# Two guests, each with their own reservation, share one room: both reservations have the same shareId.
REQUEST=$(push reservations <<BATCH
[{
  "clientCode": "DEMO", "propertyCode": "$PROPERTY", "reservationId": "R-3001", "lastModifiedDateTime": "$(now)",
  "status": "CONFIRMED", "numberOfRooms": 1, "shareId": "S-12", "primarySharer": true, "sharers": ["R-3002"],
  "roomStays": [{
    "arrivalDate": "2027-10-01", "departureDate": "2027-10-03", "roomTypeCode": "DLX", "numberOfAdults": 1,
    "currencyCode": "GBP", "rates": [{"startDate": "2027-10-01", "endDate": "2027-10-03", "rateValue": "90.00"}]
  }]
}, {
  "clientCode": "DEMO", "propertyCode": "$PROPERTY", "reservationId": "R-3002", "lastModifiedDateTime": "$(now)",
  "status": "CONFIRMED", "numberOfRooms": 1, "shareId": "S-12", "primarySharer": false, "sharers": ["R-3001"],
  "roomStays": [{
    "arrivalDate": "2027-10-01", "departureDate": "2027-10-02", "roomTypeCode": "DLX", "numberOfAdults": 1,
    "currencyCode": "GBP", "rates": [{"startDate": "2027-10-01", "endDate": "2027-10-02", "rateValue": "90.00"}]
  }]
}]
BATCH
)
outcome "$REQUEST" | grep -o '"applied":[0-9]*'

# One room on both nights: two guests and both rates on the first, one guest on the second.
get /api/insight/v1/on-the-books -d clientCode=DEMO -d propertyCode="$PROPERTY" -d from=2027-10-01 -d to=2027-10-02 |
  grep -o '"\(stayDate\|rooms\|adults\|roomRevenue\)":[^,]*'
