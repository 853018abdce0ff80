. ./bellhop.sh

# booking DEPARTURE: the reservation as the hotel's system has it now, whole, with the time of its last modification.
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

# It is booked, and then the guest stays a night longer: the same id, a newer time, the whole reservation again.
outcome "$(booking 2027-08-12)" | grep -o '"applied":[0-9]*'
outcome "$(booking 2027-08-13)" | grep -o '"applied":[0-9]*'

# Nothing is lost: the history has every version.
get /api/public/v1/reservations/history -d clientCode=DEMO -d propertyCode="$PROPERTY" -d reservationId=R-1001 |
  grep -o '"departureDate": "[0-9-]*"'
