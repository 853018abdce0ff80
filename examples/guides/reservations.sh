. ./bellhop.sh

# booking DEPARTURE: the complete reservation as the hotel's system has it now, with the time of its last modification.
booking() {
  push reservations <<BATCH
[{
  "clientCode": "DEMO", "propertyCode": "$PROPERTY", "reservationId": "R-1001",
  "lastModifiedDateTime": "$(now)", "bookingDateTime": "2026-11-02T10:15:00Z", "status": "CONFIRMED", "numberOfRooms": 1,
  "roomStays": [{
    "arrivalDate": "2027-08-10", "departureDate": "$1", "roomTypeCode": "DLX",
    "numberOfAdults": 2, "marketSegmentCode": "LEISURE", "rateCode": "BAR", "currencyCode": "GBP",
    "rates": [{"startDate": "2027-08-10", "endDate": "$1", "rateValue": "180.00"}]
  }]
}]
BATCH
}

# Book it, then extend the stay by a night: send the whole reservation again, with the same id and a newer time.
outcome "$(booking 2027-08-12)" | grep -o '"applied":[0-9]*'
outcome "$(booking 2027-08-13)" | grep -o '"applied":[0-9]*'

# The history has every version.
get /api/public/v1/reservations/history -d clientCode=DEMO -d propertyCode="$PROPERTY" -d reservationId=R-1001 |
  grep -o '"departureDate": "[0-9-]*"'
