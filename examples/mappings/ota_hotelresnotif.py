"""OTA_HotelResNotifRQ: the reservations of one message (docs/mappings/ota.md)."""

import os
import re
import sys
import xml.etree.ElementTree as xml
from datetime import date, datetime, timedelta, timezone

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guides"))
from bellhop import PROPERTY, outcome, push  # noqa: E402

# Root statuses say what to do; HotelReservation/@ResStatus, if it is none of them, is the state.
ACTIONS = {"Book": "RESERVED", "Commit": "RESERVED", "Modify": "RESERVED", "Cancel": "CANCELLED"}
CHILD = "8"
ADULT = "10"


def utc(time):
    """An instant with an offset as a UTC time."""
    # An offset as +0000, which Python before 3.11 does not read.
    instant = datetime.fromisoformat(re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", time.replace("Z", "+00:00")))
    return instant.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def guests(stay, code):
    counts = stay.findall("GuestCounts/GuestCount")
    return sum(int(one.get("Count")) for one in counts if one.get("AgeQualifyingCode") == code)


def rates(stay):
    """Rates are listed by stay and room; ExpireDate is the day after the last night."""
    for rate in stay.findall("RoomRates/RoomRate/Rates/Rate"):
        base = rate.find("Base")
        last = date.fromisoformat(rate.get("ExpireDate")) - timedelta(days=1)
        first = date.fromisoformat(rate.get("EffectiveDate"))
        found = {
            "startDate": first.isoformat(),
            "endDate": max(first, last).isoformat(),
            "rateValue": base.get("AmountBeforeTax"),
            "grossRateValue": base.get("AmountAfterTax"),
        }
        yield {name: value for name, value in found.items() if value is not None}


def reservations(message, client_code, property_code):
    """One reservation for each RoomStay, because the rooms of one message may be of different types and dates."""
    root = xml.fromstring(re.sub(r'\sxmlns="[^"]*"', "", message, count=1))
    for one in root.iter("HotelReservation"):
        status = one.get("ResStatus") or root.get("ResStatus")
        booking = one.find("UniqueID").get("ID")
        channel = one.find("POS/Source/BookingChannel/CompanyName")
        for number, stay in enumerate(one.findall("RoomStays/RoomStay"), 1):
            rate_list = list(rates(stay))
            room_type = stay.find("RoomTypes/RoomType")
            room_rate = stay.find("RoomRates/RoomRate")
            base = stay.find("RoomRates/RoomRate/Rates/Rate/Base")
            found = {
                "arrivalDate": stay.find("TimeSpan").get("Start"),
                "departureDate": stay.find("TimeSpan").get("End"),
                "roomTypeCode": (room_rate if room_type is None else room_type).get("RoomTypeCode"),
                "roomNumber": None if room_type is None else room_type.get("RoomID"),
                "rateCode": None if room_rate is None else room_rate.get("RatePlanCode"),
                "marketSegmentCode": stay.get("MarketCode"),
                "sourceBookingCode": stay.get("SourceOfBusiness"),
                "numberOfAdults": guests(stay, ADULT),
                "numberOfChildren": guests(stay, CHILD),
                "currencyCode": None if base is None else base.get("CurrencyCode"),
                "rates": rate_list,
            }
            record = {
                "clientCode": client_code,
                "propertyCode": property_code,
                "reservationId": f"{booking}-{number}",
                "multiReservationId": booking,
                "lastModifiedDateTime": utc(one.get("LastModifyDateTime") or root.get("TimeStamp")),
                "bookingDateTime": utc(one.get("CreateDateTime")),
                "status": ACTIONS.get(status, status),
                "channel": None if channel is None else channel.get("Code"),
                "roomStays": [{name: value for name, value in found.items() if value is not None}],
            }
            yield {name: value for name, value in record.items() if value is not None}


if __name__ == "__main__":
    example = os.path.join(os.path.dirname(os.path.abspath(__file__)), "payloads", "ota.xml")
    with open(sys.argv[1] if len(sys.argv) > 1 else example, encoding="utf-8") as file:
        records = list(reservations(file.read(), "DEMO", PROPERTY))
    answer = outcome(push("reservations", records))
    counts = {name: count for name, count in answer["counts"].items() if count and name != "records"}
    print("reservations: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    for record in answer["records"]:
        for warning in record["warnings"]:
            print(f"  {records[record['index']]['reservationId']}: {warning['code']}: {warning['message']}")
