"""By the Python client of openapi-generator: pushes three records of each resource, reads them back, pages through them."""

import os
from datetime import date

import openapi_client as bellhop

PROPERTY = os.environ["PROPERTY"]
TIME = "2026-06-01T08:30:00.123456Z"
HOTEL = {"client_code": "DEMO", "property_code": PROPERTY}
EVERY = (1, 2, 3)


def night(number):
    rooms = bellhop.RoomTypeInventory(
        room_type_code="DLX",
        room_type_capacity=bellhop.WholeNumber(40),
        rooms_sold=bellhop.WholeNumber(31),
    )
    return bellhop.Inventory(
        **HOTEL,
        create_date_time=TIME,
        occupancy_date=date(2027, 6, number),
        room_type_inventories=[rooms],
        additional_properties={"ownField": "kept"},
    )


def reservation(number):
    stay = bellhop.RoomStay(
        arrival_date=date(2027, 6, 1), departure_date=date(2027, 6, 3), room_type_code="DLX"
    )
    return bellhop.Reservation(
        **HOTEL,
        last_modified_date_time=TIME,
        reservation_id=f"R-{number}",
        status="CONFIRMED",
        primary_sharer=bellhop.ReservationPrimarySharer(True),
        sharers=[bellhop.ReservationSharersInner("R-9")],
        room_stays=[stay],
    )


def group(number):
    block = bellhop.GroupBlock(
        occupancy_date=date(2027, 6, 1),
        room_type_code="DLX",
        blocks=bellhop.WholeNumber(20),
        single_person_rate=bellhop.Decimal("140.00"),
    )
    return bellhop.Group(
        **HOTEL,
        last_modified_date_time=TIME,
        group_code=f"G-{number}",
        group_status_code="DEFINITE",
        start_date=date(2027, 6, 1),
        end_date=date(2027, 6, 2),
        group_blocks=[block],
    )


def given(record):
    """The fields that it has a value for: what was read has None for each other."""
    return {name: value for name, value in record.to_dict().items() if value is not None}


def all_of(fetch):
    """The records of every page, and how many pages there were."""
    records, pages, cursor = [], 0, None
    while pages == 0 or cursor is not None:
        page = fetch(**HOTEL, limit=2, cursor=cursor)
        records += page.items
        pages += 1
        cursor = page.next_cursor
    return records, pages


configuration = bellhop.Configuration(host=os.environ["BASE_URL"])
with bellhop.ApiClient(configuration) as client:
    token = bellhop.TokensApi(client).issue_token(
        "client_credentials", client_id=os.environ["CLIENT_ID"], client_secret=os.environ["CLIENT_SECRET"]
    )
    configuration.access_token = token.access_token
    push, requests, lists = bellhop.PushApi(client), bellhop.RequestsApi(client), bellhop.RecordsApi(client)
    for accepted in (
        push.push_inventories([night(n) for n in EVERY]),
        push.push_reservations([reservation(n) for n in EVERY]),
        push.push_groups([group(n) for n in EVERY]),
    ):
        outcome = requests.get_request(accepted.request_id, prefer="wait=10")
        assert (outcome.status, outcome.counts.applied) == ("applied", 3), outcome
    print("pushed")

    nights, inventory_pages = all_of(lists.list_inventories)
    reservations, reservation_pages = all_of(lists.list_reservations)
    groups, group_pages = all_of(lists.list_groups)
    assert [given(one) for one in nights] == [given(night(n)) for n in EVERY], nights
    assert [given(one) for one in reservations] == [given(reservation(n)) for n in EVERY], reservations
    assert [given(one) for one in groups] == [given(group(n)) for n in EVERY], groups
    print("read back")
    assert (inventory_pages, reservation_pages, group_pages) == (2, 2, 2)
    print("paged")
